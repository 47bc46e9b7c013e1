"""Trees with shared nodes are the trees of Algorithm 3, one by one."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from cade_tf.graph.graph import Graph
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import make_graph_tables, node_dtype
from cade_tf.sampling.neighborhood import distinct_instances, sample_neighborhood
from tests import engine

FANOUTS = (3, 2, 2)


def key_of(step):
    return random.make_key(0, random.Stream.NEIGHBOR, step)


def sample(roots, samplings, *, step=0, fanouts=FANOUTS, tables=None, **options):
    return sample_neighborhood(
        tables or engine.small_tables(),
        tf.constant(roots),
        tf.constant(samplings),
        fanouts,
        key_of(step),
        **options,
    )


def instances(trees, samplings):
    """Level, sampling, node and children of every instance, with all claims checked by the way."""
    nodes = trees.nodes.numpy()
    sampling_of = dict(enumerate(samplings))
    found, behind = {}, 0
    for level, children in enumerate(trees.child_nodes):
        here = range(behind, behind + children.shape[0])
        behind = here.stop
        for place, row in zip(here, children.numpy(), strict=True):
            identity = (level, sampling_of[place], int(nodes[place]))
            assert identity not in found, "an instance stands once on its level"
            found[identity] = row.tolist()
        if level + 1 < len(trees.child_nodes):
            positions = trees.child_positions[level].numpy()
            np.testing.assert_array_equal(nodes[positions], children)
            assert positions.min() >= behind
            for place, row in zip(here, positions, strict=True):
                for position in row:
                    assert (
                        sampling_of.setdefault(position, sampling_of[place]) == sampling_of[place]
                    )
    assert behind == len(nodes)
    return found


def test_levels_hold_each_distinct_instance_once_and_positions_lead_to_the_children():
    graph = engine.small_graph()
    roots, samplings = [0, 3, 3, engine.ISOLATED], [0, 0, 1, 1]
    found = instances(sample(roots, samplings), samplings)
    for (level, _, node), children in found.items():
        assert len(children) == FANOUTS[level]
        allowed = graph.neighbors(node) if graph.degrees[node] else [node]
        assert np.isin(children, allowed).all()
    levels = collections.Counter(level for level, _, _ in found)
    assert levels[0] == 4
    assert levels[1] <= 12


def test_roots_come_first_in_their_order():
    roots = [7, 2, 10, 0]
    assert sample(roots, [0, 0, 0, 0]).nodes.numpy()[:4].tolist() == roots


def test_the_same_node_sampling_level_and_key_give_the_same_draw_in_any_batch():
    first = instances(sample([0, 3, 5], [0, 0, 1]), [0, 0, 1])
    second = instances(sample([5, 4, 0, 1, 3], [1, 1, 0, 0, 1]), [1, 1, 0, 0, 1])
    common = set(first) & set(second)
    assert {level for level, _, _ in common} == {0, 1, 2}
    for identity in common:
        assert first[identity] == second[identity]


def test_samplings_levels_and_steps_draw_independently():
    leaves, samplings = 40, list(range(800))
    graph = Graph.from_edges([[0, leaf] for leaf in range(1, leaves + 1)])
    tables = make_graph_tables(graph, np.ones((leaves + 1, 1), np.float32))

    def drawn(step, level):
        # A leaf's only child is the centre, which so stands on level 2 again.
        trees = sample([0] * 800, samplings, step=step, fanouts=(1, 1, 1), tables=tables)
        found = instances(trees, samplings)
        return np.array([found[level, sampling, 0][0] for sampling in samplings])

    base = drawn(0, 0)
    limit = 4 / np.sqrt(800)
    for other in (base[np.r_[1:800, 0]], drawn(0, 2), drawn(1, 0)):
        assert abs(np.corrcoef(base, other)[0, 1]) < limit


def test_sharing_draws_leaves_each_tree_its_distribution():
    # Every path of two hops from the root has the probability of two independent uniform steps,
    # although other roots of the same sampling share its nodes.
    graph = engine.small_graph()
    root, trials = int(np.argmax(graph.degrees)), 3000
    others = [node for node in range(engine.NODES) if node != root]
    roots = [root] * trials + others * trials
    samplings = [*range(trials), *np.repeat(np.arange(trials), len(others)).tolist()]
    trees = sample(roots, samplings, fanouts=(2, 2))
    children = trees.child_nodes[0].numpy()[:trials, 0]
    places = trees.child_positions[0].numpy()[:trials, 0] - len(roots)
    grandchildren = trees.child_nodes[1].numpy()[places, 0]
    counts = collections.Counter(zip(children.tolist(), grandchildren.tolist(), strict=True))
    paths, expected = [], []
    for child in graph.neighbors(root):
        for grandchild in graph.neighbors(child):
            paths.append((int(child), int(grandchild)))
            expected.append(trials / graph.degrees[root] / graph.degrees[child])
    assert set(counts) <= set(paths)
    assert stats.chisquare([counts[path] for path in paths], expected).pvalue > 0.001


def test_all_samplings_share_a_node_of_one_neighbour_on_the_last_level_and_no_other():
    graph = Graph.from_edges([[0, 1], [0, 2]])
    tables = make_graph_tables(graph, np.ones((3, 1), np.float32))

    def nodes(fanouts):
        trees = sample([0] * 4, [0, 1, 2, 3], fanouts=fanouts, tables=tables)
        return trees.nodes.numpy().tolist()

    assert sorted(nodes((30, 1))) == [0] * 4 + [1, 2]
    # The leaves have a subtree on the level before, in which the centre draws for each sampling.
    assert sorted(nodes((30, 1, 1))) == [0] * 4 + [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize("weighted", [False, True])
def test_samplings_that_draw_the_same_set_share_it(weighted):
    tables = engine.small_tables(weighted=weighted)
    roots = list(range(engine.NODES)) * 6
    samplings = np.repeat(np.arange(6), engine.NODES).tolist()
    apart, shared = (
        sample(roots, samplings, fanouts=(3, 4), tables=tables, as_sets=as_sets)
        for as_sets in (False, True)
    )

    def sets(trees):
        """What each node of the last level draws, by the place of its instance."""
        drawn = trees.child_nodes[1].numpy()
        found = zip(trees.nodes.numpy()[len(roots) :], drawn, strict=True)
        return [(int(node), frozenset(children.tolist())) for node, children in found]

    before, after = sets(apart), sets(shared)
    assert len(after) == len(set(after)) == len(set(before)) < len(before)
    np.testing.assert_array_equal(apart.child_nodes[0], shared.child_nodes[0])
    for there, here in zip(
        apart.child_positions[0].numpy().ravel(),
        shared.child_positions[0].numpy().ravel(),
        strict=True,
    ):
        assert before[there - len(roots)] == after[here - len(roots)]


def test_distinct_instances_keep_the_order_of_first_appearance():
    nodes, samplings, position = distinct_instances(
        tf.constant([[4, 2], [4, 4]]), tf.constant([[0, 0], [1, 0]]), 5
    )
    assert nodes.numpy().tolist() == [4, 2, 4]
    assert samplings.numpy().tolist() == [0, 0, 1]
    assert position.numpy().tolist() == [[0, 1], [2, 0]]


def test_ids_of_large_graphs_do_not_overflow():
    assert node_dtype(2**31 - 1) == tf.int32
    assert node_dtype(2**31) == tf.int64
    assert node_dtype(2**20, samplings=2**11) == tf.int64
    nodes, samplings, _ = distinct_instances(
        tf.constant([2**33 - 1, 5], tf.int64), tf.constant([255, 0], tf.int64), 2**33
    )
    assert nodes.numpy().tolist() == [2**33 - 1, 5]
    assert samplings.numpy().tolist() == [255, 0]
