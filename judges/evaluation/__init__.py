"""Measures, compares and tunes judges on labelled cases. Not needed to serve.

In reading order:

    labelled.py           cases with correct verdicts, made from scenarios and a knowledge base
    traced_turn.py        a served turn as a scenario
    judge_names.py        messages for unknown judges in scenarios
    case_choice.py        selects cases
    configured_judges.py  the judges of a configuration, with cases, models, cache and budget; shipped_scenarios.py: the defaults
    subject.py            the subject of a measurement: one stage of a judge with a prompt and a model, or its cascade
    run_cases.py          judges the cases with their subjects, concurrently and within a budget
    measures.py           precision, recall, specificity, ROC AUC with intervals; flips between repeats; exact tests
    report.py             the outcome as data and as text; page.py: as a page
    saved_evaluation.py   the outcome as a file, and the progress of a running evaluation
    compare.py            compares two subjects on the same cases
    tune.py               a model proposes edits of a prompt, and measurement decides
    journaled_judging.py  judges cases with a wording, and records the answers
    tuning_result.py      the result of a tuning run
    tuning_run.py         sets up or resumes a tuning run
    proposer.py           the model that proposes edits, and its task
    edits.py              applies its edits, or refuses them
    candidate_decision.py decides whether a wording is significantly better
    journal.py            the folder of a run, from which it can be resumed
    prompt_target.py      the file for a better wording, and its configuration
    holdout.py            counts the uses of a holdout
    errors.py             errors of measuring and tuning
"""
