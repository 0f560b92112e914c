"""Question-answer pairs: built from documents, checked by gates, reviewed by experts, evaluated.

In reading order:

* `pair.py` defines pairs, their file and the taxonomy; `words.py` analyses texts with the word lists of `languages.yaml`.
* `paragraphs.py` reads documents; `build.py` builds pairs from them, drafted by a model or extracted (`drafts.py`, `prompts/`).
* `gates.py` defines the checks of a pair; `clusters.py` groups pairs with the same meaning, and finds pairs by BM25.
* `review.py` reads and writes the experts' table; `pair_eval.py` evaluates BM25 over pairs, and groups unanswered questions.

Building pairs needs the extra `import`. Serving pairs needs only `pair.py`.
"""
