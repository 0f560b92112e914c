"""What a run consists of."""

from pathlib import Path

from facilitators.facilitator import load_all
from scenarios.checkpoint import load as load_checkpoint
from scenarios.questions import load_all as load_questions
from scoring.experiment import Experiment
from scoring.plan import samples

ROOT = Path(__file__).resolve().parents[2]
CHECKPOINTS = {
    name: load_checkpoint(ROOT / "scenarios" / "checkpoints" / f"{name}.yaml")
    for name in ("activist-1", "activist-2", "lawyer-1")
}


def test_every_combination_is_there_once() -> None:
    """Arms x checkpoints of the facilitator x samples, and arms x questions."""
    experiment = Experiment(name="x", chatbot="b", facilitators=("activist",), samples=2, question_samples=3)
    found = samples(experiment, load_all(), CHECKPOINTS, load_questions()[:5])
    assert len(found) == 2 * 2 * 2 + 2 * 5 * 3
    assert len({sample.place(1).key() for sample in found}) == len(found)
    assert {sample.start for sample in found if sample.facilitator} == {"activist-1", "activist-2"}


def test_arms_share_their_seeds() -> None:
    """Both arms of a sample are seeded alike, other samples otherwise."""
    experiment = Experiment(name="x", chatbot="b", facilitators=("activist",), samples=2)
    found = samples(experiment, load_all(), CHECKPOINTS, ())
    on, off = (sorted(sample.seed(1, 1) for sample in found if sample.arm == arm) for arm in ("on", "off"))
    assert on == off
    assert len(set(on)) == len(on)


def test_a_question_brings_its_history() -> None:
    """Whoever asks to rephrase has something to be rephrased."""
    experiment = Experiment(name="x", chatbot="b", questions=(Path("x"),))
    asked = [question for question in load_questions() if question.kind == "rephrase"]
    assert all(sample.history[-1].role == "assistant" for sample in samples(experiment, {}, {}, asked))
