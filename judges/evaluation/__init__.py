"""How good the judges are: measured, compared, tuned and calibrated on labelled cases. Not needed to serve.

In reading order:

    labelled.py     a case with the verdict that is right, made of scenarios and a knowledge base
    subject.py      what is measured: one stage of a judge with a prompt and a model, or its whole cascade
    asking.py       have a subject judge the cases: concurrent, resumable, within a budget
    measures.py     precision, recall, specificity, ROC AUC with intervals; agreement with oneself; exact tests
    report.py       the outcome as data, as a table, as a page
    compare.py      two subjects on the same cases
    tune.py         a model proposes edits of a prompt, measurement decides
    calibrate.py    thresholds for the local judges from labelled cases
"""
