"""Telling pasted code, logs, data and quoted mail from prose, line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A fenced block; one that is never closed runs to the end.
FENCE = re.compile(r"```.*?(?:```|\Z)|(?:^|(?<=\n))~~~.*?(?:\n~~~|\Z)", re.DOTALL)

# What `images` writes beside a message's own text.
_IMAGE = re.compile(r"\s*\[image: [^\[\]]*\]\s*$")
_QUOTE = re.compile(r"\s*>(?!\d)(?:\s|>|$)|\s*>\w")
_LOG = re.compile(
    r"""\s*[\[(<]?\d{4}-\d\d-\d\d[T ]\d\d:\d\d
    | \s*[\[(]?\d\d:\d\d:\d\d\b
    | \s*[\[(]?\d{4}/\d\d/\d\d\s\d\d:\d\d
    | \s*[A-Z][a-z]{2}\s+\d{1,2}\s\d\d:\d\d:\d\d\s
    | \s*\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE|CRITICAL|PANIC)\b\]?[\s:\[(-]
    | \s*(?:npm|yarn|pip|gcc|clang|make|ld|cargo|fatal|error|warning|panic|E)(?:\s(?:ERR!|WARN)|\[\w+\]:|:\s)
    | \s*(?:\*\s)?(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\s\S
    | \s*Traceback\s\(most\srecent
    | \s*File\s"[^"]+",\sline\s\d+
    | \s*at\s[\w$.<>/]+\s?\(
    | \s*Caused\sby:\s
    | \s*(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Warning)(?::|$)
    | \s*\.\.\.\s\d+\smore\b
    | \s*E\s{3,}\S | \s*\S+\.\w{1,4}:\d+:\s\S | \s*={5,}\s.*\s={5,} | HTTP/\d\S*\s\d{3}\b
    | \s*Process\sfinished\swith\s | \s*Segmentation\sfault | \s*Exit(?:ed)?\s(?:code|status)\b
    | \d{1,3}(?:\.\d{1,3}){3}\s-\s-\s\[
    | \s*\S+:\d+:\d+:\s(?:error|warning|note)
    """,
    re.VERBOSE,
)
_CODE = re.compile(
    r"""\s*(?:def|class|func|fn|interface|struct|enum|trait|impl|namespace)\s\w+[^.?!]*[({:\]]\s*$
    | \s*(?:const|let|var|static|public|private|protected|export|final|extern)\s[\w<>\[\]:{}\s,*]+[=({;]
    | \s*(?:import\s[\w.{}*,\s]+(?:;|from\s['"].*|as\s\w+)?\s*$|from\s[\w.]+\simport\s)
    | \s*(?:if|for|while|switch|elif|else\sif|catch|foreach)\s?\(.*\)\s*\{?\s*$
    | \s*(?:if|for|while|elif|with|except)\s[^?!.]*:\s*$
    | \s*(?:else|try|finally|do)\s*[:{]\s*$
    | \s*for\s\w+(?:,\s?\w+)?\sin\s\S.*(?::|;\s?do\b).*$ | \s*(?:done|fi|esac|end|End\s(?:Sub|If|Function))\s*;?\s*$
    | \s*(?:Sub|Function)\s\w+\(.*\)\s*$ | \s*Dim\s\w+\sAs\s | \s*=[A-Z]{2,}\(.*\)\s*$
    | \s*[A-Z]:\\\S*>\s?\S | \s*(?:PS\s)[A-Z]:\\\S*> | \s*\^\S*[\]\[(\\]\S*\$\s*$
    | \s*return\b[^.?!]*;?\s*$
    | \s*(?:\#include|\#define|\#!/|<\?|<!DOCTYPE|<!--|@\w+\(?|using\snamespace|package\s[\w.]+;?\s*$)
    | \s*(?:SELECT\s.+\sFROM|INSERT\sINTO|UPDATE\s\w+\sSET|DELETE\sFROM
        |(?:CREATE|ALTER|DROP)\s(?:TABLE|INDEX|VIEW|DATABASE))\b
    | \s*(?:SELECT|FROM|WHERE|(?:LEFT|INNER|RIGHT|FULL|CROSS)?\s?JOIN|GROUP\sBY|ORDER\sBY|HAVING|LIMIT|VALUES)
        \s[\w*'"(`]
    | \s*select\s.+\sfrom\s\w+ | \s*select\s[\w*.]+,\s.*\(.*\)\s*$
    | \s*[a-z_-]+:\s(?:"[^"]*"|'[^']*'|\d+|true|false|null)\s*$ | \s*-\s[\w.-]+:\s\S | \s{2,}[a-z_-]+:(?:\s\S+)?\s*$
    | \s*[{\[]\s*["'{\[\d-].*[}\]]\s*[,;]?\s*$
    | \s*[{\[]\s*$
    | \s*[}\])]+\s*[,;)]*\s*$
    | \s*["'][\w$ -]+["']\s*:\s*[\["'{\dtfn-]
    | \s*</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>.*
    | \s*(?://|/\*|\*/|--\s|;;)\s*\S.*
    | \s*(?:\$|>>>|\#|PS\s\S*>|\w+@[\w-]+:\S*[$\#])\s+[a-z./]\S*(?:\s\S+)*\s*$
    | \s*(?:sudo|pip3?\sinstall|npm\s(?:i|install|run)|git\s(?:clone|push|pull|commit|checkout|rebase)
        |docker\s(?:run|ps|build|compose)|kubectl\s|curl\s-|apt(?:-get)?\sinstall|brew\sinstall)[\s\S]*$
    | \s*[A-Za-z_$][\w$.\[\]"']*\s*(?:=|\+=|-=|:=|\|\||&&)\s*\S.*[\w)\]}"';]\s*$
    | \s*[A-Za-z_$][\w$.]*\((?:[^()]|\([^()]*\))*\)\s*[;{]?\s*$
    | .*[;{]\s*$
    | .*(?:=>|===|!==|->\s\w+\s*[:{]|::\w|\)\s*\{)
    | \s*\|.*\|\s*$
    | \s*[A-Z][A-Z0-9_]{2,}=\S+\s*$
    """,
    re.VERBOSE,
)
_COLUMNS = re.compile(r"\S(?: {3,}|\t)\S.*\S(?: {2,}|\t)\S")
_CSV = re.compile(r"[^,\s][^,]*(?:,[^,\s][^,]*){2,}")
_SYMBOLS = re.compile(r"[{}()\[\];=<>|\\$#@*&^%~`_/+]")
_ADDRESS = re.compile(r"https?://\S+|www\.\S+|\S+@\S+")
_PROSE = re.compile(
    r"\b(?:i|i'm|my|me|you|your|the|is|are|was|what|how|why|please|and|it|of|with|that|this)\b", re.IGNORECASE
)
_HAN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_PROSE_END = re.compile(r"\w[.!?]\s*$")
_INDENTED = re.compile(r"(?:\t| {2,})\S")
_LETTERS = re.compile(r"[^\W\d_]")
_DENSE = 0.15
_DENSE_FROM = 12
_GAP = 2
# Characters of a line that show what it is.
_LOOKED_AT = 400


def line_kinds(lines: Sequence[str], after_gap: Sequence[bool]) -> list[str]:
    """The kind of each line: text, code, log, quote or image.

    No line is blank; `after_gap` tells before which ones a blank line stood. A line of no sure kind between two
    lines of one block belongs to the block, and so do lines right beside one that look no more like prose.
    """
    images = [_IMAGE.match(line) is not None for line in lines]
    lines = [line[:_LOOKED_AT] for line in lines]
    kinds = ["image" if image else _kind(line) for line, image in zip(lines, images, strict=True)]
    if all(kind == "text" for kind in kinds):
        _mark_csv(lines, kinds)
    if any(kind in ("code", "log") for kind in kinds):
        _fill(lines, kinds)
        _spread(lines, kinds, after_gap, range(1, len(lines)), -1)
        _spread(lines, kinds, after_gap, range(len(lines) - 2, -1, -1), 1)
        _fill(lines, kinds)
    return kinds


def _kind(line: str) -> str:
    if _QUOTE.match(line):
        return "quote"
    if _LOG.match(line) and not _HAN.match(line.lstrip()):
        return "log"
    return "code" if _is_code(line) else "text"


def _is_code(line: str) -> bool:
    bare = _ADDRESS.sub("x", line)
    prose = 2 * len(_PROSE.findall(bare)) + len(_HAN.findall(bare))
    symbols = len(_SYMBOLS.findall(bare))
    if _CODE.match(bare) and (symbols * 3 >= prose or _CODE_SURE.match(bare)):
        return bool(symbols or ";" in bare or _LETTERS.search(bare))
    if _COLUMNS.search(bare) and prose <= 2:
        return True
    return len(bare) >= _DENSE_FROM and symbols > _DENSE * len(bare) and prose <= symbols


_CODE_SURE = re.compile(r"\s*(?://|/\*|--\s|SELECT\s|INSERT\s|UPDATE\s|CREATE\s|<[a-z]+[\s>/])")


def _mark_csv(lines: Sequence[str], kinds: list[str]) -> None:
    """Two lines in a row with as many commas and no gaps after them are a table."""
    for i in range(len(lines) - 1):
        if kinds[i] == "text" and lines[i].count(",") >= 2 and _CSV.fullmatch(lines[i].strip()):
            j = i + 1
            while j < len(lines) and lines[j].count(",") == lines[i].count(","):
                if not _CSV.fullmatch(lines[j].strip()):
                    break
                kinds[i] = kinds[j] = "code"
                j += 1


def _fill(lines: Sequence[str], kinds: list[str]) -> None:
    """Join the lines of one block: it has one kind, that of its first line."""
    last = -1
    for i, kind in enumerate(kinds):
        if kind not in ("code", "log"):
            continue
        between = range(last + 1, i)
        near = last >= 0 and len(between) <= _GAP
        if near and all(kinds[at] == "text" and not _HAN.match(lines[at]) for at in between):
            for at in (*between, i):
                kinds[at] = kinds[last]
        last = i


def _spread(
    lines: Sequence[str], kinds: list[str], after_gap: Sequence[bool], order: Sequence[int], beside: int
) -> None:
    for i in order:
        neighbour = kinds[i + beside]
        gap = after_gap[i] if beside < 0 else after_gap[i + 1]
        if kinds[i] == "text" and neighbour in ("code", "log") and not gap and _is_bare(lines[i]):
            kinds[i] = neighbour


def _is_bare(line: str) -> bool:
    """Whether a line beside code has signs of code and none of prose."""
    if _HAN.search(line) or len(_PROSE.findall(line)) > 1 or _PROSE_END.search(line):
        return False
    return _INDENTED.match(line) is not None or _SYMBOLS.search(line) is not None
