from inspect_core.ui.result_cache import ResultCache


def test_the_results_used_last_are_kept():
    cache = ResultCache(2)
    cache.put({"photos": 1}, "one")
    cache.put("b", "two")
    assert cache.get({"photos": 1}) == "one"
    cache.put("c", "three")
    assert [cache.get(key) for key in ({"photos": 1}, "b", "c")] == ["one", None, "three"]
    cache.put("c", "four")
    assert [cache.get(key) for key in ({"photos": 1}, "c")] == ["one", "four"]
    cache.clear()
    assert cache.get("c") is None
