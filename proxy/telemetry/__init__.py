"""Metrics, logs and spans for operators, without texts of conversations.

metrics.py         Prometheus metrics; external_metric.py: gauges that read their values elsewhere
worker_metrics.py  metrics of several worker processes
tracing.py         opens OpenTelemetry if it is configured; spans.py: its spans
logs.py            the proxy's log lines; library_logs.py: redacted log lines of libraries
"""
