from inspect_core.runtime import workspace


def test_saved_recipes_never_clash():
    first = workspace.free_recipe_path("a b")
    first.parent.mkdir(parents=True)
    first.write_bytes(b"")
    assert workspace.free_recipe_path("a b").name == "a-b-2.zip"
