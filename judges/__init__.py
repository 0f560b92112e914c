"""Decides what may be said. Knows no HTTP.

In reading order:

    case.py         all that a judge may see of one reply
    observation.py  the forms in which judges state what they see
    verdict.py      verdicts, and the judgement that keeps the evidence behind one
    letters.py      letters in other forms, as plain ones
    quotes.py       does a quote stand in a text, word for word or nearly
    doses.py        the doses a text names; numbers.py: its numbers, number_words.py: those in words
    sentences.py    a text, cut into sentences; phrases.py: what a sentence does besides asserting
    languages.py    which language a text is in
    topics.py       which sensitive topic a text touches
    plain_text.py   a text in plain letters, its sentences, the content of its words
    advice.py       advice that no source gives; imperatives.py: how advice is phrased
    problems.py     the table from problems to judges, rules and score
    claims.py       what a reply asserts, scored and ruled on; rules.py: from any observation to verdict, the policy in code
    modes.py        which judges a reply calls for
    prompt.py       a judge's markdown file
    guard_model.py  how guard models are asked in the form they were trained on, and read
    offload.py      long texts are judged in a thread
    judge.py        one judge: a prompt file and a model, or a local observer
    python_judge.py a judge that is a Python class of a user's own
    feedback.py     what the chatbot is told of a rejected reply
    reply_call.py   one call that answers for all built-in judges of a reply
    review.py       what several judges make of one reply
    cascade.py      one judge through its stages
    pipeline.py     the judges of a chatbot, and the way of a reply through them
    complete_statements.py  adds the statements that a reply lacks
    refiner.py      rewrites what was rejected
    text_cache.py   a bounded cache for functions of texts
    local/          judges and refiner without a model
    prompts/        a markdown file for each stage: of the calls that judges share, of the emergency judge, of the refiner
    training/       where the local judges' weights come from; not needed to serve
"""
