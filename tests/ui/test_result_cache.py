from inspect_core.ui.result_cache import ResultCache


def test_the_results_used_last_are_kept():
    kept = ResultCache(2)
    kept.put({"photos": 1}, "one")
    kept.put("b", "two")
    assert kept.get({"photos": 1}) == "one"
    kept.put("c", "three")
    assert [kept.get(key) for key in ({"photos": 1}, "b", "c")] == ["one", None, "three"]
    kept.put("c", "four")
    assert [kept.get(key) for key in ({"photos": 1}, "c")] == ["one", "four"]
    kept.clear()
    assert kept.get("c") is None
