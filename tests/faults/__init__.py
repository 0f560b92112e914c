import pytest

# Else an assertion of theirs that fails says nothing of the values.
pytest.register_assert_rewrite("tests.faults.driver_proxy", "tests.faults.driver_talk", "tests.faults.driver_told")
