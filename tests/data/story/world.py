"""A small model of the world told in changes.jsonl.  Standard library only.

world(as_of, known_at) -> (yes, maybe): two sets of (fact id, text); a fact id is (change n, fact index).
  yes    certainly holds on the day `as_of`, going by what had been told up to the instant `known_at`
  maybe  the data does not decide (see README.md, "Dates"); everything else certainly does not hold
Run it for the self-check:  python3 world.py
"""

import itertools
import json
import os
from datetime import date, datetime, timedelta

HERE = os.path.dirname(os.path.abspath(__file__))
END = "2024-12-31"  # the present of the story


def load(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


CHANGES, QUESTIONS = load("changes.jsonl"), load("questions.jsonl")
FACTS = {
    (c["n"], i): dict(f, id=(c["n"], i), told=datetime.fromisoformat(c["told_at"]), language=c["language"])
    for c in CHANGES
    for i, f in enumerate(c["facts"])
}


def span(d):
    """First and last day of a date, month or year."""
    p = [int(x) for x in d.split("-")]
    if len(p) == 3:
        return date(*p), date(*p)
    if len(p) == 2:
        return date(p[0], p[1], 1), date(p[0] + p[1] // 12, p[1] % 12 + 1, 1) - timedelta(1)
    return date(p[0], 1, 1), date(p[0], 12, 31)


def ref(r):
    return r["n"], r["fact"]


def intervals(known_at=None):
    """{id: (first possible, first certain, last certain, last possible)} of the facts live at known_at.
    Days, both ends included; a fact with no end has date.max."""
    k = datetime.fromisoformat(known_at) if known_at else None
    told = {i: f for i, f in FACTS.items() if k is None or f["told"] <= k}
    retired = {ref(r) for f in told.values() for r in f["corrects"]}
    live = {i: f for i, f in told.items() if i not in retired}
    out = {}
    for i, f in live.items():
        lo, hi = span(f["valid_from"]) if f["valid_from"] else (date.min, f["told"].date())
        if f.get("event") and lo != hi:
            hi = date.max  # some days of that month or year, never a certain one
        ends = [span(f["valid_to"])] if f["valid_to"] else []
        ends += [span(r["at"]) for g in live.values() for r in g["replaces"] + g["ends"] if ref(r) == i]
        first, last = min(ends) if ends else (None, date.max)
        out[i] = lo, hi, (first - timedelta(1) if first else date.max), last
    return out


def states(as_of, known_at=None):
    d = date.fromisoformat(as_of)
    return {
        i: "yes" if hi <= d <= sure else "maybe" if lo <= d <= last else "no"
        for i, (lo, hi, sure, last) in intervals(known_at).items()
    }


def world(as_of=END, known_at=None):
    s = states(as_of, known_at)
    return tuple({(i, FACTS[i]["text"]) for i in s if s[i] == w} for w in ("yes", "maybe"))


# ------------------------------------------------------------------ self-check


def check():
    bad = []

    def need(ok, *what):
        if not ok:
            bad.append(" ".join(map(str, what)))

    # the changes themselves
    times = [datetime.fromisoformat(c["told_at"]) for c in CHANGES]
    need([c["n"] for c in CHANGES] == list(range(1, 41)), "forty changes, numbered")
    need(
        all(a < b for a, b in itertools.pairwise(times)) and all(t.tzinfo for t in times), "told_at must rise"
    )
    for i, f in FACTS.items():
        if f["valid_from"] and f["valid_to"]:
            need(span(f["valid_from"])[0] < span(f["valid_to"])[0], i, "ends before it begins")
        for r in f["replaces"] + f["ends"] + f["corrects"]:
            g = FACTS.get(ref(r))
            need(g and g["id"][0] < i[0], i, "refers to", r)
            need(g and g["attribute"] == f["attribute"], i, "other attribute than", r)
        for r in f["replaces"] + f["ends"]:
            need(r["at"] == f["valid_from"], i, "replaces at another date than it begins")
        if f.get("late"):
            need((f["told"].date() - span(f["valid_from"])[1]).days > 120, i, "is not late")
            need(
                f["valid_to"] and span(f["valid_to"])[0] < f["told"].date(),
                i,
                "late, but reaches the present",
            )
    # exclusive attributes: never two certain values on one day, whatever was known; late facts leave the present alone
    day0 = date(2019, 1, 1)
    for c in CHANGES:
        iv = intervals(c["told_at"])
        for a in {f["attribute"] for f in FACTS.values() if f["single"]}:
            mine = sorted((v, i) for i, v in iv.items() if FACTS[i]["attribute"] == a and FACTS[i]["single"])
            for (v, i), (w, j) in itertools.pairwise(mine):
                need(v[2] < max(w[1], day0) or w[2] < w[1], "after", c["n"], i, j, "both hold")
        if all(f.get("late") for f in c["facts"]):
            before = (datetime.fromisoformat(c["told_at"]) - timedelta(seconds=1)).isoformat()
            day = c["told_at"][:10]
            need(
                world(day, c["told_at"])[0] == world(day, before)[0], c["n"], "late, yet changes the present"
            )
    # the questions
    need([q["n"] for q in QUESTIONS] == list(range(1, 61)), "sixty questions, numbered")
    final = intervals()
    for q in QUESTIONS:
        ans, no = [tuple(x) for x in q["answer"]], [tuple(x) for x in q["not"]]
        need(ans and set(ans + no) <= set(FACTS), "q", q["n"], "unknown fact")
        need(
            q["cross_language"] == all(FACTS[a]["language"] != q["language"] for a in ans),
            "q",
            q["n"],
            "cross_language",
        )
        a = q["args"]
        if q["kind"] in ("current", "as_of", "known_at"):
            known = a.get("known_at")
            # without as_of, a known_at question must have one answer under both readings: present then, present now
            for day in [a["as_of"]] if "as_of" in a else [END] + ([known[:10]] if known else []):
                s = states(day, known)
                for x in ans:
                    need(s.get(x) == "yes", "q", q["n"], day, x, "is", s.get(x, "not known"))
                for x in no:
                    need(s.get(x, "no") == "no", "q", q["n"], day, x, "is", s.get(x))
                for x in FACTS:  # `not` names every excluded fact of the answer's attribute
                    if FACTS[x]["attribute"] == FACTS[ans[0]]["attribute"] and s.get(x, "no") == "no":
                        need(x in no, "q", q["n"], day, x, "is missing from not")
            continue
        day = date.fromisoformat(a["reference_date"])
        need(not no, "q", q["n"], "has a not-list")
        for x in ans:
            need(x in final, "q", q["n"], x, "is retired")
        x = ans[0]
        lo, _hi, _sure, last = final[x]
        if q["kind"] == "before_after":
            if q["relation"] == "used_to":
                need(last < day, "q", q["n"], "still holds")
            else:
                start = final[tuple(q["anchor"][0])][0]
                if q["relation"] == "before":
                    need(lo < start, "q", q["n"], "not before")
                    for y, v in final.items():  # the nearest earlier one
                        if y != x and FACTS[y]["attribute"] == FACTS[x]["attribute"] and y[0] != x[0]:
                            need(not (max(lo, date.min) < v[0] < start), "q", q["n"], y, "lies nearer")
                else:
                    need(lo > start, "q", q["n"], "not after")
        elif "window" in q:
            w0, w1 = map(date.fromisoformat, q["window"])
            need(lo <= w1 and last >= w0, "q", q["n"], "outside its window")
            need(w0 <= day, "q", q["n"], "window is in the future")
        else:
            need(q["date"] == FACTS[x]["valid_from"], "q", q["n"], "date")
    return bad


if __name__ == "__main__":
    problems = check()
    print(
        "\n".join(problems)
        or f"self-check: all agree ({len(CHANGES)} changes, {len(FACTS)} facts, {len(QUESTIONS)} questions)"
    )
    raise SystemExit(bool(problems))
