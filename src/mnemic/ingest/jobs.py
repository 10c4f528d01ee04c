"""The names of professions. Data, and two functions."""

from __future__ import annotations

import re

from .rules import words

_EN = words(
    """accountant actor actress actuary analyst anesthesiologist announcer apprentice archaeologist architect archivist
    artist assistant astronaut attendant attorney auditor author baker banker barber barista bartender beekeeper
    biologist bookbinder bookkeeper bricklayer broker builder butcher buyer captain caretaker carpenter cashier chef
    chemist chiropractor cleaner clerk coach cobbler composer conductor consultant cook coordinator coroner
    correspondent counselor counsellor courier curator dancer data-scientist dealer dentist designer detective
    developer dietitian director dispatcher doctor driver economist editor electrician engineer estimator executive
    farmer fireman firefighter fisherman florist foreman gardener geologist glazier goldsmith guard hairdresser
    handyman housekeeper illustrator inspector instructor intern
    interpreter janitor jeweler joiner journalist judge laborer
    labourer landscaper lawyer lecturer librarian lifeguard linguist locksmith logistician machinist magistrate manager
    marketer mason masseur mathematician mechanic meteorologist midwife miller miner model musician nanny notary nurse
    nutritionist officer operator optician optometrist orderly painter paralegal paramedic pathologist pediatrician
    pharmacist photographer physician physicist physiotherapist pianist pilot planner plasterer plumber policeman
    policewoman porter postman potter president principal producer professor programmer prosecutor psychiatrist
    psychologist publicist radiographer realtor receptionist recruiter referee reporter researcher roofer sailor
    salesman salesperson saleswoman scientist scriptwriter sculptor seamstress secretary seller shepherd shoemaker
    singer soldier solicitor specialist statistician steward stewardess superintendent supervisor surgeon surveyor
    tailor teacher
    tester technician therapist trader trainer translator treasurer tutor typist undertaker upholsterer usher
    vet veterinarian waiter waitress warden watchmaker weaver welder woodworker writer zookeeper zoologist"""
)
_ZH = re.compile(
    r"(?:老师|教师|教授|讲师|医生|大夫|护士|护师|药剂师|厨师|司机|律师|会计|出纳|程序员|工程师|设计师|建筑师|摄影师"
    r"|理发师|面点师|咖啡师|调酒师|培训师|分析师|咨询师|营养师|美容师|化妆师|魔术师|经理|助理|主管|总监|店长|主任|科长"
    r"|处长|部长|校长|园长|院长|秘书|文员|职员|店员|服务员|收银员|售货员|快递员|外卖员|保安|保洁|保姆|月嫂|警察|民警"
    r"|交警|消防员|记者|编辑|主编|翻译|导游|导演|演员|歌手|画家|作家|编剧|演奏员|教练|裁判|木匠|电工|焊工|钳工|瓦工"
    r"|水管工|工人|农民|渔民|船长|飞行员|乘务员|乘务长|空姐|研究员|科研人员|法官|检察官|公务员|村官|辅导员|班主任"
    r"|销售|客服|运营|产品经理|项目经理|架构师|测试员|运维|前台|采购|策划|书记员|图书管理员|管理员|技术员|质检员|兽医"
    r"|牙医|麻醉师|康复师|程序猿|公交司机|工长|组长|仓管|模特|裁缝|花艺师|园丁|矿工)$"
)


def is_job_en(value: str) -> bool:
    """Whether an English value, in small letters, names a profession: its last word does."""
    return value.rpartition(" ")[2] in _EN


def job_in_chinese(value: str) -> str:
    """The profession at the end of a Chinese value, or ''."""
    found = _ZH.search(value)
    return found[0] if found else ""
