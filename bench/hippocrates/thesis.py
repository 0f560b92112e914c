"""The baseline: the method of the thesis for finding databases. It is BM25 over one document per database and concept name."""

from collections import defaultdict
from collections.abc import Sequence

import bm25s

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.vocabulary import Vocabulary

DOCUMENTS = 100
THRESHOLD = 0.0
"""Minimum sum of scores of a database. The thesis does not state the value; higher values lower recall and nDCG here."""


class Thesis:
    """Ranks databases by the sum of the scores of the first DOCUMENTS documents. The number of patients is not used."""

    def __init__(self, catalogue: Catalogue, vocabulary: Vocabulary) -> None:
        """Create the documents and their index."""
        self._databases: list[int] = []
        texts: list[str] = []
        for concept_id in catalogue.counts:
            concept, counts = vocabulary.get(concept_id), catalogue.counts.get(concept_id)
            if concept is None or counts is None:
                continue
            for place in counts.places.tolist():
                self._databases.append(catalogue.databases[place].id)
                texts.append(concept.name)
        self._index = bm25s.BM25()
        self._index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)

    def find(self, names: Sequence[str]) -> list[int]:
        """Return the ids of the databases for some names, best first."""
        words = bm25s.tokenize([" and ".join(names)], stopwords="en", show_progress=False)
        places, scores = self._index.retrieve(words, k=DOCUMENTS, show_progress=False)
        sums: dict[int, float] = defaultdict(float)
        for place, score in zip(places[0].tolist(), scores[0].tolist(), strict=True):
            if score > 0:
                sums[self._databases[place]] += score
        ranked = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
        return [database for database, score in ranked if score > THRESHOLD]
