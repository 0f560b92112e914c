"""Extracts the error code and the field at fault from an upstream's error. Pure.

Only codes and field names that OpenAI defines are accepted. Any other text may quote a draft, a prompt or a key.
"""

import re
from collections.abc import Mapping

CODES = frozenset((
    "account_deactivated", "array_above_max_length", "array_below_min_length", "billing_hard_limit_reached", "billing_not_active",
    "content_filter", "content_policy_violation", "context_length_exceeded", "decimal_above_max_value", "decimal_below_min_value",
    "empty_array", "empty_image_file", "empty_string", "failed_to_download_image", "image_content_policy_violation",
    "image_file_not_found", "image_file_too_large", "image_parse_error", "image_too_large", "image_too_small",
    "insufficient_quota", "integer_above_max_value", "integer_below_min_value", "invalid_api_key", "invalid_base64_image",
    "invalid_function_parameters", "invalid_image", "invalid_image_format", "invalid_image_mode", "invalid_image_url",
    "invalid_json", "invalid_json_schema", "invalid_parameter", "invalid_prompt", "invalid_request_error", "invalid_schema",
    "invalid_tool_call", "invalid_type", "invalid_value", "json_validate_failed", "missing_required_parameter", "model_not_found",
    "null_value", "object_above_max_properties", "object_below_min_properties", "rate_limit_exceeded", "request_too_large",
    "server_error", "string_above_max_length", "string_below_min_length", "string_too_long", "tokens_exceeded", "tool_use_failed",
    "unknown_parameter", "unsupported_country_region_territory", "unsupported_image_media_type", "unsupported_model",
    "unsupported_parameter", "unsupported_value",
))  # fmt: skip
"""Error codes of OpenAI's Chat Completions API and of compatible servers."""
FIELDS = frozenset((
    "additionalProperties", "approximate", "arguments", "audio", "chat_template_kwargs", "content", "custom", "data", "definition",
    "description", "detail", "effort", "file", "file_data", "file_id", "filename", "format", "frequency_penalty", "function",
    "function_call", "functions", "grammar", "guided_json", "id", "image_url", "include_usage", "input", "input_audio", "items",
    "json_object", "json_schema", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "messages", "metadata", "min_p",
    "modalities", "model", "n", "name", "parallel_tool_calls", "parameters", "prediction", "presence_penalty", "prompt_cache_key",
    "prompt_cache_retention", "properties", "reasoning", "reasoning_effort", "refusal", "repetition_penalty", "required",
    "response_format", "role", "safety_identifier", "schema", "search_context_size", "seed", "service_tier", "stop", "store",
    "stream", "stream_options", "strict", "temperature", "text", "tool_call_id", "tool_calls", "tool_choice", "tools", "top_k",
    "top_logprobs", "top_p", "ttl", "type", "url", "user", "user_location", "verbosity", "voice", "web_search_options",
))  # fmt: skip
"""Names of request fields that the API defines, as opposed to names that a client chooses."""
_STEP = re.compile(r"[.\[\]]+")


def read_refusal(error: object) -> tuple[str | None, str | None]:
    """Return the `code` and `param` of an upstream's error object. A value that OpenAI does not define becomes None.

    If `param` is missing but the message mentions `response_format`, `param` is `response_format`. The message itself is never
    returned.
    """
    if not isinstance(error, Mapping):
        return None, None
    code, param = error.get("code"), known_field(error.get("param"))
    code = code if isinstance(code, str) and code in CODES else None
    if param is None and re.search(r"response_format|json_schema|json_object", str(error.get("message"))):
        param = "response_format"
    return code, param


def known_field(value: object) -> str | None:
    """Return a field path such as `messages[0].content` unchanged if the API defines all names in it, else None."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    first, *rest = _STEP.split(value)
    is_known = first in FIELDS and all(step in FIELDS or step.isdecimal() or not step for step in rest)
    return value if is_known else None
