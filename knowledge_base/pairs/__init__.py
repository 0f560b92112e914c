"""Question-answer pairs: builds them from documents, checks them, imports the reviews of experts, and evaluates the search.

In reading order:

* `pair.py` defines pairs, their file and the taxonomy; `words.py` analyses texts with the word lists of `languages.yaml`.
* `paragraphs.py` reads documents; `build.py` builds pairs from their paragraphs; `drafts.py` drafts pairs, with a model (and the
  prompts in `prompts/`) or without one.
* `gates.py` checks pairs; `clusters.py` groups pairs with the same meaning, and searches pairs with BM25.
* `review.py` reads and writes the review table of the experts; `pair_eval.py` evaluates the search and groups unanswered questions.

Building pairs from Word or PDF needs the extra `import`. Serving pairs needs only `pair.py`.
"""
