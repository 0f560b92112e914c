"""Decides what may be said. Knows no HTTP.

In reading order:

    case.py         all that a judge may see of one reply, and which judges it calls for
    observation.py  the forms in which judges state what they see
    verdict.py      verdicts, judgements with their evidence, and the review of several judges
    claims.py       from the claims of a reply to its score and verdict; the table of problems
    rules.py        from any observation to a verdict: the policy in code; the warnings to the chatbot
    prompt.py       a judge's markdown file
    guard_model.py  how guard models are asked in the form they were trained on
    judge.py        one judge at one stage: a prompt and a model, or local rules
    python_judge.py a judge that is a Python class of a user's own
    pipeline.py     a reply's path through the judges: local stages, screen, look up, decide
    refiner.py      adds the statements that a reply lacks, or rewrites it

What code checks beside the models, and the local judges:

    text.py         plain letters, sentences, words
    languages.py    the language of a text, and whether rules can read it
    quotes.py       whether a quote stands in a text, word for word or nearly
    numbers.py      the numbers of a text; doses.py: the doses
    topics.py       which sensitive topic a text touches
    phrases.py      what a sentence does besides asserting; advice.py: advice that no source gives
    local/          judges and refiner without a model

    prompts/        a markdown file for each stage: of the shared calls, of the emergency judge, of the refiner
    evaluation/     measuring and tuning judges, and training the local ones (training/). Not needed to serve.
"""
