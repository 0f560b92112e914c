"""Question-answer pairs: made of documents, held against gates, reviewed by people, measured.

In reading order:

* `pair.py` is a pair, the file that holds them, and the taxonomy; `words.py` reads texts by the lists of `languages.yaml`.
* `build.py` makes pairs of what `paragraphs.py` reads of documents, by drafts of a model or extracts (`drafts.py`, `prompts/`).
* `gates.py` says what a pair must pass; `clusters.py` groups pairs that ask the same, and finds pairs by BM25.
* `review.py` is the experts' table; `pair_eval.py` measures BM25 over pairs, and groups questions that no pair has answered.

What makes pairs needs the extra `import`; what serves them reads `pair.py` alone.
"""
