"""How large a place is, as far as its name tells, and what a street address looks like. Data, and two functions."""

from __future__ import annotations

import re

from .rules import words

_COUNTRIES = words(
    """argentina australia austria bangladesh belgium brazil britain bulgaria cambodia cameroon canada chile
    china colombia croatia cuba cyprus czechia denmark ecuador egypt england estonia ethiopia finland france
    georgia germany ghana greece holland hungary iceland india indonesia iran iraq ireland israel italy
    jamaica japan jordan kenya korea latvia lebanon lithuania luxembourg malaysia malta mexico morocco nepal
    netherlands nigeria norway oman pakistan panama peru philippines poland portugal qatar romania russia
    scotland serbia singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania
    thailand tunisia turkey uganda uk ukraine uruguay usa us america venezuela vietnam wales yemen zambia
    zimbabwe europe asia africa scandinavia 中国 美国 英国 法国 德国 日本 韩国 加拿大 澳大利亚 澳洲 新西兰
    意大利 西班牙 葡萄牙 荷兰 瑞士 瑞典 挪威 丹麦 芬兰 俄罗斯 印度 泰国 越南 马来西亚 新加坡 印尼 菲律宾
    欧洲 亚洲 非洲 国外 国内 海外"""
)
_STATES = words(
    """california texas florida ohio oregon nevada arizona colorado utah montana idaho kansas iowa illinois
    michigan wisconsin minnesota alabama georgia virginia maryland maine vermont ontario quebec alberta
    bavaria saxony catalonia tuscany provence brittany bretagne yorkshire cornwall kent essex surrey
    queensland victoria tasmania 江苏 浙江 广东 广西 山东 山西 河南 河北 湖南 湖北 四川 云南 贵州 福建 江西
    安徽 陕西 甘肃 青海 辽宁 吉林 黑龙江 海南 新疆 西藏 内蒙古 宁夏 台湾"""
)
_DISTRICT = re.compile(
    r".*(?:[区县镇村乡]|街道|路|街|新区|园区|小镇)$|.* (?:street|road|avenue|district|village|heights)$"
)


def extent(place: str) -> str:
    """How large a case-folded place is: "country", "state", "district", or "city" for any other name."""
    if place in _COUNTRIES:
        return "country"
    if place in _STATES or place.endswith("省"):
        return "state"
    return "district" if _DISTRICT.match(place) else "city"


_STREET_KINDS = {
    "street": "st", "road": "rd", "avenue": "ave av", "drive": "dr", "lane": "ln", "court": "ct", "place": "pl",
    "boulevard": "blvd", "crescent": "cres", "terrace": "ter", "square": "sq", "parkway": "pkwy", "highway": "hwy",
    "close": "", "way": "", "yard": "", "row": "", "gardens": "gdns", "grove": "", "hill": "", "mews": "",
    "parade": "", "quay": "", "walk": "", "park": "", "view": "", "rise": "", "alley": "", "circle": "cir",
    "path": "", "trail": "", "loop": "", "pike": "", "plaza": "", "green": "", "wharf": "", "vale": "",
}  # fmt: skip
_WHOLE_KIND = {short: kind for kind, names in _STREET_KINDS.items() for short in (kind, *names.split())}
# Patterns, in small or capital letters: a street, and a house in it.
STREET = rf"(?:[\w'’-]+ ){{1,3}}(?:{'|'.join(sorted(_WHOLE_KIND, key=len, reverse=True))})\b\.?"
HOUSE = rf"\d+[a-z]?(?:[-/]\d+)? {STREET}"


def street_address(text: str) -> str:
    """An address in which spellings are alike: in small letters, "ln" and "lane" one word, no punctuation."""
    found = re.findall(r"[\w'’/-]+", text.casefold())
    return " ".join(_WHOLE_KIND.get(word, word) for word in found if word not in ("number", "no", "the"))
