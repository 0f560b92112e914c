"""How good the judges are: measured, compared and tuned on labelled cases. Not needed to serve.

In reading order:

    labelled.py           a case with the verdict that is right, made of scenarios and a knowledge base
    traced_turn.py        a served turn as a scenario
    judge_names.py        names in scenarios that no judge has
    case_choice.py        a choice among the cases
    configured_judges.py  the judges of a configuration, with cases, models, memory and budget; shipped_scenarios.py lends theirs
    subject.py            what is measured: one stage of a judge with a prompt and a model, or its whole cascade
    run_cases.py          judge the cases with their subjects: concurrent, within a budget
    measures.py           precision, recall, specificity, ROC AUC with intervals; agreement with oneself; exact tests
    report.py             the outcome as data and as text; page.py: as a page
    saved_evaluation.py   the same as a file, and beside it how far an evaluation is
    compare.py            two subjects on the same cases
    tune.py               a model proposes edits of a prompt, measurement decides
    journaled_judging.py  answers to a wording, asked once and written down
    tuning_result.py      what such a run came to
    tuning_run.py         such a run made ready, or reopened
    proposer.py           the model that proposes edits, and its task
    edits.py              applying its edits, or refusing them
    candidate_decision.py whether a wording is proven better
    journal.py            the folder of a run, from which it can go on
    prompt_target.py      where a better wording is written, and how it is configured
    holdout.py            how often a holdout has been used
    errors.py             what keeps judges from being measured
"""
