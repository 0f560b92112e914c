"""Judges that accept, warn about or reject a chatbot's reply, and detect emergencies in the user's message.

The package does not know HTTP. In reading order:

    case.py         the input of a judge (`Case`), and the choice of judges for a reply
    observation.py  the forms that judges fill in
    verdict.py      verdicts, judgements with their evidence, and the review by several judges
    claims.py       turns the claims of a reply into a score and a verdict; the table of problem kinds
    rules.py        the policy: turns any observation into a verdict and a warning to the chatbot
    prompt.py       parses a judge's markdown file
    guard_model.py  requests to guard models, in the format that each model was trained on
    judge.py        one judge at one stage: a prompt and a model, or local rules
    python_judge.py a judge written as a Python class
    pipeline.py     runs a reply through its judges: local stages, screening, source lookup, decision
    refiner.py      adds missing statements to a rejected reply, or rewrites the reply

Checks in code that run beside the models, and the local judges:

    text.py         folds letters, splits sentences, reduces words to roots
    languages.py    detects the language of a text, and whether rules can read the text
    quotes.py       checks whether a text contains a quote, exactly or nearly
    numbers.py      extracts the numbers of a text
    doses.py        extracts the doses of a text
    topics.py       finds the sensitive topic of a text
    phrases.py      recognises sentences that assert nothing: courtesies, refusals, referrals
    advice.py       finds advice that no source gives
    local/          judges and a refiner without a model

    prompts/        markdown prompts of the shared calls, the emergency judge and the refiner
    evaluation/     measures and tunes judges, and trains the local judges (training/); not needed to serve
"""
