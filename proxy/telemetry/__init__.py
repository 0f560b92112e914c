"""Metrics, logs and spans for operators, without texts of conversations.

metrics.py         Prometheus metrics; external_metric.py: gauges whose values are kept elsewhere
worker_metrics.py  the same of several processes
tracing.py         whether OpenTelemetry is asked for; spans.py: its spans
logs.py            our log lines; library_logs.py: what libraries would print
"""
