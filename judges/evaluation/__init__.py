"""Measures, compares and tunes judges on labelled cases. The proxy does not need this package to serve.

In reading order:

    labelled.py           creates cases with correct verdicts from scenarios and a knowledge base
    traced_turn.py        converts a served turn to a scenario
    judge_names.py        messages for unknown judge names in scenarios
    case_choice.py        selects cases by file, judge, split, tag and family
    configured_judges.py  the judges of a configuration, with cases, models, cache and budget
    shipped_scenarios.py  the defaults of the shipped scenarios: sections, role and topics
    subject.py            the subject of a measurement: one stage of a judge, or its whole cascade
    run_cases.py          judges cases with their subjects, concurrently and within a budget
    measures.py           precision, recall, specificity, ROC AUC, flips between repeats, significance tests
    report.py             formats an evaluation as JSON data and as text
    page.py               formats an evaluation as an HTML page
    saved_evaluation.py   stores an evaluation and its progress as files for the console
    compare.py            compares two subjects on the same cases
    tune.py               tunes a prompt: a model proposes edits, and measurement decides
    journaled_judging.py  judges cases with one version of a prompt, and records the answers
    tuning_result.py      the result of a tuning run
    tuning_run.py         starts or resumes a tuning run
    proposer.py           asks a model to propose edits
    edits.py              applies the proposed edits, or rejects them
    candidate_decision.py decides whether one version of a prompt is significantly better than another
    journal.py            the folder of a tuning run, from which the run can be resumed
    prompt_target.py      the file for a better prompt, and the configuration that selects the file
    holdout.py            counts the uses of a holdout
    errors.py             errors of measuring and tuning
"""
