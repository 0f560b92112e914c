"""Gates, the checks that a pair must pass before it is stored, and `find_problems`, which checks a whole knowledge base. Pure.

A gate is a function that returns a description of the problem, or an empty text. Reports show the function's name. A variant that
fails the gate `wording` is dropped; a pair that fails any other gate is dropped.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from knowledge_base.pairs.clusters import PairIndex
from knowledge_base.pairs.pair import LONGEST_ANSWER, Pair, Taxonomy, find_shared_wordings
from knowledge_base.pairs.words import Words

_REPLY = re.compile(r"^\w+[,.] ")
"""Matches a first word such as yes or no, which is not a negation of the sentence after it."""
FIRST = 10
"""Rank limit of the retrieval gate: a search for one of a pair's variants must find the pair's cluster within the first FIRST."""
FEWEST_STEMS = 2
"""Minimum number of stems, besides the names of the focus, of a question that must pass the retrieval gate. "Was ist PoTS?" has too
few for BM25."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The reason why a pair or one of its variants is dropped."""

    pair: Pair
    gate: str
    """Name of the gate that failed."""
    detail: str

    def __str__(self) -> str:
        return f"{self.pair.id}: {self.gate}: {self.detail}: {self.pair.question} {self.pair.answer}"


def quote(pair: Pair, words: Words, taxonomy: Taxonomy) -> str:
    context = " ".join(pair.context.split())
    wrong = [one for one in pair.quotes if " ".join(one.split()) not in context]
    return f"{wrong[0]!r} is not in the paragraph" if wrong else "" if pair.quotes else "the pair has no quotes"


def number(pair: Pair, words: Words, taxonomy: Taxonomy) -> str:
    own = words.numbers(f"{pair.question} {pair.answer}") - words.numbers(pair.context)
    return f"{', '.join(sorted(own))} is not in the paragraph" if own else ""


def negation(pair: Pair, words: Words, taxonomy: Taxonomy) -> str:
    is_quoted = words.is_negated(words.quoted_sentences(pair.context, pair.quotes))
    statement = _REPLY.sub("", pair.answer)
    if is_quoted == words.is_negated(f"{pair.question} {statement}"):
        return ""
    return (
        "the quoted sentences have a negation, the pair does not"
        if is_quoted
        else "the pair has a negation, the quoted sentences do not"
    )


def focus(pair: Pair, words: Words, taxonomy: Taxonomy) -> str:
    own = taxonomy.focus(pair.focus)
    return "" if words.names_focus(pair.question, own) else f"the question does not name {own.name!r}"


def length(pair: Pair, words: Words, taxonomy: Taxonomy) -> str:
    is_long = len(pair.answer.split()) > LONGEST_ANSWER and pair.complexity != "complex"
    return f"the answer has more than {LONGEST_ANSWER} words, but its complexity is not complex" if is_long else ""


def warning(pair: Pair, words: Words, taxonomy: Taxonomy) -> str:
    lost = words.warnings(words.quoted_sentences(pair.context, pair.quotes)) - words.warnings(pair.answer)
    return f"the quoted sentences have {', '.join(sorted(lost))!r}, the answer does not" if lost else ""


def check(pair: Pair, words: Words, taxonomy: Taxonomy) -> str:
    applying = [one for one in taxonomy.checks if one.when.search(f"{pair.question}\n{pair.answer}")]
    return next((one.reason for one in applying if not one.allows(pair.answer)), "")


GATES: tuple[Callable[[Pair, Words, Taxonomy], str], ...] = (quote, number, negation, focus, length, warning, check)


def wording(text: str, pair: Pair, words: Words, taxonomy: Taxonomy) -> str:
    """Return why a pair's answer does not fit a variant of its question, or an empty text.

    If the answer begins with yes or no, the variant must have the polarity of the question. A variant must not describe a person's
    own danger signs or ask for a diagnosis, because a stored answer must never reply to these.
    """
    if words.reply_of(pair.answer):
        if words.reports(text):
            return "reports a statement, but the answer begins with yes or no"
        if words.asks_either(text):
            return "asks for a choice, but the answer begins with yes or no"
        if words.is_negated(text) != words.is_negated(pair.question):
            return "only one of wording and question has a negation, and the answer begins with yes or no"
    if pair.aspect in taxonomy.danger and words.tells_of_somebody(text):
        return f"describes a person's own signs, in the aspect {pair.aspect}"
    return "asks for a diagnosis" if words.asks_for_diagnosis(text, taxonomy.focus(pair.focus)) else ""


def find_wordings(pair: Pair, taxonomy: Taxonomy) -> dict[str, Finding]:
    """Return the variants of a pair that fail the gate `wording`, each with its finding."""
    words = Words(taxonomy.language)
    said = {text: wording(text, pair, words, taxonomy) for text in pair.variants}
    return {text: Finding(pair, "wording", f"{why}: {text!r}") for text, why in said.items() if why}


def find_fault(pair: Pair, taxonomy: Taxonomy) -> Finding | None:
    """Return the finding of the first gate that a pair fails; None if it passes all gates."""
    words = Words(taxonomy.language)
    return next((Finding(pair, gate.__name__, said) for gate in GATES if (said := gate(pair, words, taxonomy))), None)


def find_conflicts(pairs: Sequence[Pair], taxonomy: Taxonomy) -> list[Finding]:
    """Check pairs against each other.

    Returns:
        Findings for pairs that contradict the first pair of their cluster, and for pairs that a search for their variants does not
        find.
    """
    words, firsts = Words(taxonomy.language), dict[str, Pair]()
    found = []
    for pair in pairs:
        first = firsts.setdefault(pair.cluster, pair)
        numbers, others = words.numbers(first.answer), words.numbers(pair.answer)
        is_otherwise = words.is_negated(first.answer) != words.is_negated(pair.answer)
        if is_otherwise or not (numbers <= others or others <= numbers):
            what = "negation differs" if is_otherwise else "numbers differ"
            found.append(Finding(pair, "contradiction", f"{what} from {first.id}, which asks the same question"))
    asked = {one.id: words.split_stems(one.question, taxonomy.focus(one.focus))[0] for one in pairs}
    unseen = {one.id: one for one in pairs if one.variants and len(asked[one.id]) >= FEWEST_STEMS}
    index = None
    for n in range(max((len(pair.variants) for pair in pairs), default=0)):
        if not unseen:
            break
        # The n-th variant of each pair is the query; the index holds all other wordings.
        others_only = [one.model_copy(update={"variants": one.variants[:n] + one.variants[n + 1 :]}) for one in pairs]
        index = PairIndex(others_only, taxonomy, like=index)
        for pair in [one for one in unseen.values() if n < len(one.variants)]:
            if pair.cluster in [one.cluster for one in index.rank(pair.variants[n], FIRST)]:
                del unseen[pair.id]
    return [
        *found,
        *(Finding(one, "retrieval", "a search for its variants does not find the pair") for one in unseen.values()),
    ]


def find_problems(pairs: Sequence[Pair], taxonomy: Taxonomy, sections: Mapping[str, str]) -> list[str]:
    """Check the served pairs of a knowledge base.

    Reviewed pairs need not pass the gates.

    Args:
        pairs: the served pairs.
        taxonomy: the taxonomy of the knowledge base.
        sections: texts of the sections by id.

    Returns:
        One message per problem: a pair in a wrong place, a failed gate, and a topic or focus without the required pairs.
    """
    problems = [f"{pair.id}: {problem}" for pair in pairs if (problem := _misplacement(pair, taxonomy, sections))]
    problems += find_shared_wordings(pairs)
    if not problems:
        findings = [*(find_fault(pair, taxonomy) for pair in pairs), *find_conflicts(pairs, taxonomy)]
        findings += [one for pair in pairs for one in find_wordings(pair, taxonomy).values()]
        problems = [str(one) for one in findings if one and one.pair.review is None]
    counts = count_aspects(pairs)
    for topic in taxonomy.topics:
        foci = [focus.id for subtopic in topic.subtopics for focus in subtopic.foci]
        if not any(pair.focus in foci for pair in pairs):
            problems.append(f"topic {topic.name!r}: has no pair")
        lacking = [(one, aspect) for one in foci for aspect in taxonomy.required_aspects if not counts[one, aspect]]
        problems += [f"focus {one!r}: has no pair on {aspect}" for one, aspect in lacking]
    return problems


def count_aspects(pairs: Sequence[Pair]) -> Counter[tuple[str, str]]:
    """Return the number of pairs for each (focus id, aspect name)."""
    return Counter((pair.focus, pair.aspect) for pair in pairs)


def plainness(pairs: Sequence[Pair], words: Words) -> tuple[float, float]:
    """Return two measures of the answers' readability: mean letters per word, and mean words per sentence."""
    sentences = [sentence.split() for pair in pairs for sentence in words.split_sentences(pair.answer)]
    return fmean(sum(map(str.isalnum, word)) for one in sentences for word in one), fmean(map(len, sentences))


def _misplacement(pair: Pair, taxonomy: Taxonomy, sections: Mapping[str, str]) -> str:
    place = (pair.topic, pair.subtopic, pair.focus)
    is_known = place in [(topic.name, subtopic.name, focus.id) for topic, subtopic, focus in taxonomy.places()]
    if not is_known or pair.aspect not in [aspect.name for aspect in taxonomy.aspects]:
        return f"{' / '.join((*place, pair.aspect))}: is not in taxonomy.yaml; build again"
    text = " ".join(sections.get(pair.document, "").split())
    if " ".join(pair.context.split()) not in text:
        return f"{pair.document}.md: does not contain the pair's paragraph; build again, or delete the pair"
    return ""
