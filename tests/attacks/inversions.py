"""Sentences of sources, changed by a program so that they say something else: what the judge of claims must not accept.

python -m tests.attacks.inversions FOLDER|FILE ...      (knowledge bases, or JSON lines with `text`)
"""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from judges.case import Case
from judges.judge import LocalJudge
from judges.text import sentences
from knowledge_base import library
from knowledge_base.library import Source
from models.unique_keys import load_json


class Inversion(NamedTuple):
    """A sentence that a source does not support."""

    kind: str
    text: str


_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|may|might|must|should|will|could|would|has|have)\b(?! (?:not|no)\b|n't)"
)
_NEGATION = re.compile(
    r"\b(?:(?P<do>do|does|did) not (?=[a-z])|(?<= )not (?=[a-z])|(?P<no>\bno) (?=[a-z])|never (?=[a-z])|(?P<can>can)not\b)"
)
_ANTONYMS = [
    tuple(pair.split("/"))
    for pair in """increase/decrease more/fewer higher/lower before/after start/stop early/late rare/common allowed/forbidden
    open/closed free/chargeable safe/dangerous better/worse always/never often/rarely many/few large/small long/short
    easy/difficult quickly/slowly strong/weak stronger/weaker raise/cut rise/fall above/below inside/outside minimum/maximum
    first/last older/younger young/old men/women day/night days/months hours/weeks weekly/yearly monthly/daily morning/evening
    improve/worsen gain/lose accept/refuse voluntary/compulsory temporary/permanent sudden/gradual suddenly/gradually
    harmless/harmful effective/useless public/private full/empty upstairs/downstairs buy/sell borrow/lend least/most
    written/spoken best/worst with/without helps/harms reduce/increase success/failure healthy/ill fixed/variable""".split()
]
_KINDS_OF_NAMES = tuple(
    names.split()
    for names in (
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "January February March April May June July August September October November December",
        "doctor nurse pharmacist psychiatrist therapist dentist",
        "doctors nurses pharmacists psychiatrists therapists dentists",
        "landlord tenant council",
        "mother father sister brother",
        "men women children",
    )
)
_NUMBER = re.compile(r"(?<![\d.,])\d+(?![\d.,:]{0,99}\d)")
_ADVISES = re.compile(r"^(?:Please )?(?P<verb>Do not|Never|Avoid|[A-Z][a-z]+) (?P<rest>[a-z].+)\.$")
_IMPERATIVES = frozenset(
    """Take Ask Keep Bring Report Pay Tell Call Check Write Talk Store Use Give Wait Eat Drink Try Make Get Go Read Return Show Send
    Contact Follow Wash Plan Choose Sleep Visit Book Leave Put Set Speak Start Finish Swallow Remember Learn Share""".split()
)


def _negate(sentence: str) -> str | None:
    if re.search(r"\b(?:not|no|never|nor|none|without)\b|n't", sentence):
        return None
    if sentence.split(" ", 1)[0] in _IMPERATIVES:
        return f"Do not {sentence[0].lower()}{sentence[1:]}"
    return _AUXILIARY.sub(r"\1 not", sentence, count=1)


def _drop_negation(sentence: str) -> str | None:
    changed = _NEGATION.sub(lambda match: "can" if match["can"] else "", sentence, count=1)
    return changed[:1].upper() + changed[1:] if changed != sentence else None


def _swap_antonym(sentence: str) -> str | None:
    for one, other in (*_ANTONYMS, *((b, a) for a, b in _ANTONYMS)):
        if re.search(rf"\b{one}\b", sentence):
            return re.sub(rf"\b{one}\b", other, sentence, count=1)
    return None


def _replace_name(sentence: str) -> str | None:
    for names in _KINDS_OF_NAMES:
        for n, name in enumerate(names):
            if re.search(rf"\b{name}\b", sentence):
                other = next((o for o in names[n + 1 :] + names[:n] if o not in sentence), None)
                return other and re.sub(rf"\b{name}\b", other, sentence, count=1)
    return None


def _change_number(sentence: str) -> str | None:
    return _NUMBER.sub(lambda match: str(int(match[0]) * 2 + 1), sentence, count=1)


def _suggest_opposite(sentence: str) -> str | None:
    match = _ADVISES.match(sentence)
    if match is None:
        return None
    verb, rest = match["verb"], match["rest"]
    if verb in ("Do not", "Never"):
        return f"Why not {rest}?"
    if verb == "Avoid":
        return f"Why not stop {rest}?"
    return f"Why not skip that and never {verb.lower()} {rest}?" if verb in _IMPERATIVES else None


CHANGES: dict[str, Callable[[str], str | None]] = {
    "negation added": _negate,
    "negation dropped": _drop_negation,
    "antonym": _swap_antonym,
    "entity": _replace_name,
    "number": _change_number,
    "why not": _suggest_opposite,
}


def inversions(sentence: str) -> Iterator[Inversion]:
    """Yield what becomes of a sentence by one change, at most one of each kind."""
    for kind, change in CHANGES.items():
        text = change(sentence)
        if text is not None and text != sentence:
            yield Inversion(kind, text)


def load_sources(path: Path) -> list[Source]:
    """Read the sections of a knowledge base, or of a file of JSON lines."""
    if path.is_dir():
        return list(library.load(path).values())
    rows = map(load_json, path.read_text(encoding="utf-8").splitlines())
    return [Source(row["id"], row["title"], row["summary"], row["text"]) for row in rows]


def accepted_by_kind(sources: Iterable[Source]) -> dict[str, list[bool]]:
    """Return, for the sentences of sources as they stand and for each kind of inversion, which of them the local judge accepts."""
    accepted: defaultdict[str, list[bool]] = defaultdict(list)
    for source in sources:
        for sentence in sentences(source.text):
            for inversion in (Inversion("unchanged", sentence.text), *inversions(sentence.text)):
                verdict = LocalJudge("source_fidelity").judge_now(Case("", inversion.text, cited=(source,))).verdict
                accepted[inversion.kind].append(verdict == "accept")
    return accepted


def main() -> None:
    sources = (source for path in sys.argv[1:] for source in load_sources(Path(path)))
    for kind, verdicts in accepted_by_kind(sources).items():
        print(f"{kind:18} {sum(verdicts) / len(verdicts):.2f} of {len(verdicts)} accepted")


if __name__ == "__main__":
    main()
