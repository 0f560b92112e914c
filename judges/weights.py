"""Which weights a local judge scores with: a threshold holds only for the scores that it was chosen among.

Read from the files, so that nothing of `judges.local` is imported for it.
"""

from functools import cache
from hashlib import sha256
from importlib.resources import files

_EVERY = ("local/language.py", "languages.py", "letters.py", "sentences.py")
_WORDS = ("local/vectors.py", "local/weights/vectors.npy", "local/weights/words.txt")
_PHRASES = ("doses.py", "number_words.py", "phrases.py", "quotes.py")
_CLAIMS = (
    *_EVERY, *_WORDS, *_PHRASES, "plain_text.py", "topics.py", "local/claims.py", "local/support.py", "local/words.py",
    "local/weights/claims.json",
)  # fmt: skip
_ROLE = (*_EVERY, *_PHRASES, "local/role.py", "local/role.txt")
_EMERGENCY = (
    *_EVERY, *_WORDS, "local/emergency.py", "local/classifier.py", "local/explicit.py", "local/programs.py", "local/spelling.py",
    "local/spelling.txt", "local/weights/emergency.json",
    *[f"local/patterns/{name}.txt" for name in ("aftermath", "common", "de", "en", "es", "fr", "it", "nb", "nl", "pt")],
)  # fmt: skip
SCORED_BY = {"source_fidelity": _CLAIMS, "transparency": _CLAIMS, "role": _ROLE, "emergency": _EMERGENCY}
"""By judge, the files of this package that decide its local score: code, words, patterns and what was learned."""


@cache
def weights_id(judge: str) -> str:
    """Return a short hash of what decides the local score of a built-in judge: 8 hex digits, the same on every machine."""
    package = files("judges")
    whole = sha256()
    for name in sorted(SCORED_BY[judge]):
        data = package.joinpath(name).read_bytes()
        if not name.endswith(".npy"):
            data = data.replace(b"\r\n", b"\n")  # as git writes texts on Windows
        whole.update(f"{name} {len(data)}\n".encode() + data)
    return whole.hexdigest()[:8]
