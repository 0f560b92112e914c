"""Decides what may be said. Knows no HTTP.

In reading order:

    case.py         all that a judge may see of one reply, and which judges the reply needs
    observation.py  the forms that judges fill in
    verdict.py      verdicts, judgements with their evidence, and the review by several judges
    claims.py       from the claims of a reply to its score and verdict; the table of problems
    rules.py        from any observation to a verdict: the policy in code; the warnings to the chatbot
    prompt.py       a judge's markdown file
    guard_model.py  requests to guard models, in the form that each was trained on
    judge.py        one judge at one stage: a prompt and a model, or local rules
    python_judge.py a judge written as a Python class
    pipeline.py     a reply's path through the judges: local stages, screen, look up, decide
    refiner.py      adds the statements that a reply lacks, or rewrites it

Checks in code that run beside the models, and the local judges:

    text.py         plain letters, sentences, words
    languages.py    the language of a text, and whether rules can read it
    quotes.py       whether a text contains a quote, word for word or nearly
    numbers.py      the numbers of a text; doses.py: the doses
    topics.py       which sensitive topic a text touches
    phrases.py      sentences that assert nothing: courtesies, refusals, referrals; advice.py: advice that no source gives
    local/          judges and refiner without a model

    prompts/        markdown prompts: shared calls and emergency judge (one for each stage), and refiner
    evaluation/     measures and tunes judges, and trains the local ones (training/); not needed to serve
"""
