"""Parameter dicts: every operation against the same thing said tensor by tensor."""

import pytest
import torch

from fedlab_core import tree
from fedlab_core.errors import InputError


@pytest.fixture
def pair():
    g = torch.Generator().manual_seed(0)
    draw = lambda: {  # noqa: E731
        "w": torch.randn(3, 2, generator=g),
        "b": torch.randn(3, generator=g),
        "scalar": torch.randn((), generator=g),
    }
    return draw(), draw()


def test_add_scale_and_mix_are_what_they_say(pair):
    a, b = pair
    for name in a:
        x, y = a[name], b[name]
        torch.testing.assert_close(tree.add(a, b)[name], x + y)
        torch.testing.assert_close(tree.add(a, b, -2.0)[name], x - 2 * y)
        torch.testing.assert_close(tree.scale(a, 3.0)[name], x * 3)
        torch.testing.assert_close(tree.mix(a, b, 0.25)[name], 0.75 * x + 0.25 * y)


def test_mix_ends_are_exact(pair):
    a, b = pair
    for name in a:
        assert torch.equal(tree.mix(a, b, 0.0)[name], a[name])
        assert torch.equal(tree.mix(a, b, 1.0)[name], b[name])


def test_map_pairs_tensors_by_name_not_by_place(pair):
    a, b = pair
    turned = dict(reversed(b.items()))
    for name, x in tree.tree_map(torch.sub, a, turned).items():
        assert torch.equal(x, a[name] - b[name])


def test_stack_then_take_gives_the_tree_back(pair):
    stacked = tree.stack(pair)
    assert {n: x.shape[0] for n, x in stacked.items()} == {"w": 2, "b": 2, "scalar": 2}
    for k, one in enumerate(pair):
        for name, x in tree.take(stacked, k).items():
            assert torch.equal(x, one[name])
    turned = tree.take(stacked, [1, 0, 1])
    assert turned["w"].shape == (3, 3, 2)
    assert torch.equal(turned["w"][2], pair[1]["w"])


def test_repeat_shares_memory(pair):
    many = tree.repeat(pair[0], 1000)
    assert many["w"].shape == (1000, 3, 2)
    assert many["w"].untyped_storage().data_ptr() == (
        pair[0]["w"].untyped_storage().data_ptr()
    )
    assert torch.equal(many["scalar"][999], pair[0]["scalar"])


def test_weighted_sum_uses_the_weights_as_given(pair):
    a, b = pair
    got = tree.weighted_sum(tree.stack(pair), torch.tensor([2.0, -0.5]).double())
    for name, x in got.items():
        assert x.dtype == a[name].dtype and x.shape == a[name].shape
        torch.testing.assert_close(x, 2 * a[name] - 0.5 * b[name])


def test_flatten_keeps_order_and_client_rows(pair):
    a, b = pair
    flat = tree.flatten(a)
    assert torch.equal(flat, torch.cat([a["w"].flatten(), a["b"], a["scalar"][None]]))
    rows = tree.flatten(tree.stack(pair), client_axis=True)
    assert rows.shape == (2, tree.count(a))
    assert torch.equal(rows[0], flat) and torch.equal(rows[1], tree.flatten(b))


def test_as_tree_undoes_flatten(pair):
    back = tree.as_tree(tree.flatten(pair[0]), pair[0])
    assert list(back) == list(pair[0])
    assert all(torch.equal(back[n], v) for n, v in pair[0].items())
    with pytest.raises(RuntimeError):
        tree.as_tree(torch.zeros(tree.count(pair[0]) + 1), pair[0])


@pytest.mark.parametrize("rows", [[4], [2, 3, 4], [0, 2], [3, 2], [1, 1], [5, 1, 2]])
def test_adjacent_rows_are_taken_alike_and_not_copied(rows):
    stacked = {"w": torch.arange(12).view(6, 2)}
    near = tree.as_slice(rows)
    assert torch.equal(tree.take(stacked, near)["w"], stacked["w"][rows])
    runs_on = rows == list(range(rows[0], rows[0] + len(rows)))
    shares = tree.take(stacked, near)["w"].untyped_storage().data_ptr()
    assert (shares == stacked["w"].untyped_storage().data_ptr()) == runs_on


def test_slopes_are_torch_func_grads_and_zero_where_a_leaf_has_no_part(pair):
    def value(params):
        return (params["w"].square().sum(1) * params["b"]).sum()

    at = tree.with_grad(pair[0])
    found, expected = tree.gradient(value(at), at), torch.func.grad(value)(pair[0])
    assert list(found) == list(pair[0])
    assert all(torch.equal(found[n], expected[n]) for n in expected)
    assert found["scalar"] == 0 and not pair[0]["w"].requires_grad


def test_a_tree_of_other_names_or_shapes_is_refused_by_what_differs(pair):
    a, b = pair
    tree.check_shapes(a, b, "start must be")
    tree.check_shapes(tree.stack([a, b, a]), b, "start must be", rows=3)
    assert tree.clients_of(tree.stack([a, b, a])) == 3 and tree.clients_of({}) == 0
    more = b | {"c": torch.zeros(2)}
    wide = b | {"b": torch.zeros(4)}
    for made, rows, said in (
        (more, None, "{}, not {'c': (2,)}"),
        (wide, None, "{'b': (3,)}, not {'b': (4,)}"),
        ({"w": a["w"], "b": a["b"]}, None, "{'scalar': ()}, not {}"),
        (tree.stack([a, b]) | {"b": a["b"]}, 2, "{'b': (2, 3)}, not {'b': (3,)}"),
    ):
        with pytest.raises(InputError) as refused:
            tree.check_shapes(made, b, "start must be", rows)
        assert str(refused.value) == f"start must be {said}"
    for alone in (a, {}):  # itself is no row of itself, and nothing is no model
        with pytest.raises(InputError):
            tree.check_shapes(alone, alone, "start must be", rows=3)


def test_trees_whose_names_differ_are_not_paired(pair):
    """In a line with what is missing, and what may be meant by it."""
    a, b = pair
    wrong = {"weihgt": b["w"], "b": b["b"]}
    for make in (
        tree.add,
        lambda x, y: tree.mix(x, y, 0.5),
        lambda x, y: tree.stack([x, y]),
    ):
        with pytest.raises(InputError, match="a tree lacks scalar, w, but has weihgt$"):
            make(a, wrong)
    with pytest.raises(InputError, match="a tree lacks w, but has no other name$"):
        tree.add(a, {n: x for n, x in b.items() if n != "w"})
    assert tree.add({"w": a["w"]}, b).keys() == {"w"}  # the first one's names


def test_norm_and_count():
    one = {"a": torch.tensor([[3.0]]), "b": torch.tensor([0.0, 4.0])}
    assert tree.norm(one) == 5  # 3-4-5 triangle
    assert tree.count(one) == 3


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_is_finite_looks_at_every_tensor(pair, bad):
    assert tree.is_finite(pair[0])
    for name in pair[0]:
        spoilt = {n: x.clone() for n, x in pair[0].items()}
        spoilt[name].view(-1)[-1] = bad
        assert not tree.is_finite(spoilt)


def test_nothing_is_modified(pair):
    before = [{n: x.clone() for n, x in t.items()} for t in pair]
    a, b = pair
    tree.add(a, b)
    tree.scale(a, 2)
    tree.mix(a, b, 0.5)
    tree.weighted_sum(tree.stack(pair), torch.ones(2))
    for old, new in zip(before, pair, strict=True):
        assert all(torch.equal(old[n], new[n]) for n in old)
