import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cade_tf import reproduce
from cade_tf.cli import app
from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.experiments import cells, paper, readme, report, runner, tables
from cade_tf.experiments.statistics import paired_test

ROOT = Path(__file__).resolve().parents[2]
UNTRAINED = ("raw_features", "smoothed_pca")


def settings(tmp_path, **changes):
    values = {"methods": UNTRAINED, "splits": 2, "quick": True} | changes
    return runner.Settings(recipe=lambda *_: Config(), cache_dir=tmp_path / "cells", **values)


def test_every_experiment_names_known_methods_and_data():
    for name in tables.EXPERIMENTS:
        experiment = tables.experiment_of(name)
        assert any(entry.quick for entry in experiment.entries)
        places = [(entry.row, entry.column) for entry in experiment.entries]
        assert len(places) == len(set(places))
        for entry in experiment.entries:
            Config(**entry.changes)


def test_the_papers_numbers_stand_where_they_belong():
    def printed(name, row, column):
        entries = tables.experiment_of(name).entries
        (entry,) = (e for e in entries if (e.row, e.column) == (row, column))
        return dict(entry.paper)

    assert printed("table1", "CADE-MA", "BlogCatalog 50 %") == {"micro_f1": 79.04}
    assert printed("table1", "Smoothed PCA", "Pubmed 10 %") == {}
    assert printed("table2", "GraphSAGE-LSTM", "BlogCatalog 30 %") == {}
    assert printed("table2", "CADE-MS-pool", "PPI") == {"micro_f1": 56.66}
    assert printed("table2", "Graph2Gauss", "Reddit") == {"micro_f1": 72.48}
    assert printed("table3", "GraphSAGE", "Pubmed 40 %") == {"auc": 81.07, "ap": 77.47}
    assert printed("sampling", "CADE-gb", "subPPI 225") == {"micro_f1": 55.58}
    assert paper.table1("pubmed", "cade_ms", 0.3) == {"micro_f1": 83.40}


def test_an_experiment_resumes_from_its_cells(tmp_path, monkeypatch):
    experiment = tables.experiment_of("digits")
    first = runner.run(experiment, settings(tmp_path))
    monkeypatch.setattr(cells, "compute", lambda *_: pytest.fail("computed again"))
    second = runner.run(experiment, settings(tmp_path))
    assert first["entries"] == second["entries"]
    assert [len(entry["cells"]) for entry in second["entries"]] == [2, 2]


def test_a_committed_report_is_extended_from_its_own_cells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = ["reproduce", "digits", "--quick", "--splits=2", f"--recipes={ROOT / 'flags'}"]
    methods = "--methods=raw_features,smoothed_pca"
    assert app.main([*flags, methods, "--cells=elsewhere"]) == 0
    folder = Path("runs/quick/digits")
    first = report.read(folder)
    monkeypatch.setattr(cells, "compute", lambda *_: pytest.fail("computed again"))
    assert app.main([*flags, methods, "--extend"]) == 0
    assert report.read(folder)["entries"] == first["entries"]
    assert cells.restore(first, Path("runs/cells")) == 0
    assert cells.restore(first, Path("third")) == 4


def test_a_report_that_cannot_be_extended_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    flags = ["reproduce", "digits", "--extend", f"--recipes={ROOT / 'flags'}"]
    assert app.main(flags) != 0
    assert "results.json" in capsys.readouterr().err
    for text, missing in (("{", "JSON"), ("[]", "entries"), ("{}", "entries")):
        (tmp_path / "results.json").write_text(text)
        with pytest.raises(InputError, match=missing):
            report.read(tmp_path)
    assert app.main([*flags, "--fresh"]) != 0
    assert "extend" in capsys.readouterr().err


def test_means_and_spreads_are_over_splits(tmp_path):
    results = runner.run(tables.experiment_of("digits"), settings(tmp_path))
    score = results["entries"][0]["scores"]["logreg"]["micro_f1"]
    assert score["mean"] == pytest.approx(np.mean(score["values"]))
    assert score["std"] == pytest.approx(np.std(score["values"], ddof=1))
    assert len(set(score["values"])) == 2


def test_a_score_that_a_cell_of_an_older_version_lacks_is_not_averaged(tmp_path):
    experiment = tables.experiment_of("digits")
    first = runner.run(experiment, settings(tmp_path, methods=UNTRAINED[:1]))
    (path,) = (tmp_path / "cells").glob("*-1-*.json")
    cell = json.loads(path.read_text())
    del cell["scores"]["kmeans"]
    path.write_text(json.dumps(cell))
    second = runner.run(experiment, settings(tmp_path, methods=UNTRAINED[:1]))
    before, after = (set(results["entries"][0]["scores"]) for results in (first, second))
    assert before - after == {"kmeans"}


def test_a_stopped_experiment_is_reported_as_far_as_it_went(tmp_path):
    experiment = tables.experiment_of("digits")
    runner.run(experiment, settings(tmp_path, methods=UNTRAINED[:1], splits=1))
    results = runner.run(experiment, settings(tmp_path, report_only=True))
    first, second = results["entries"]
    assert len(first["cells"]) == 1
    assert second["reason"] == "not run"
    text = report.render(results, [])
    assert "(1 of 2 splits)" in text
    assert f"- {second['column']} {second['row']}: not run" in text


def test_missing_data_leave_a_reason_and_the_rest_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("CADE_DATA_DIR", raising=False)
    chosen = settings(tmp_path, data_dir=str(tmp_path / "nothing"), splits=1)
    results = runner.run(tables.experiment_of("table1"), chosen)
    assert all("pubmed" in e["reason"] or "blogcatalog" in e["reason"] for e in results["entries"])
    text = report.render(results, [])
    assert "## Not available" in text
    assert "cade data download --dataset=pubmed" in text


def test_a_training_that_diverges_does_not_stop_the_others(tmp_path, monkeypatch):
    compute = cells.compute

    def diverging(cell, *args):
        if cell.method == "raw_features":
            raise FloatingPointError("The loss is not finite")
        return compute(cell, *args)

    monkeypatch.setattr(cells, "compute", diverging)
    results = runner.run(tables.experiment_of("digits"), settings(tmp_path, splits=1))
    assert results["entries"][0]["reason"] == "The loss is not finite"
    assert "scores" in results["entries"][1]


def test_a_study_without_labels_is_done_by_links(tmp_path, monkeypatch):
    digits = cells.load_graph("digits", None)
    entry = tables._point("pubmed", "cade_ms", 5, {"k": 5})
    for labels, task in ((digits.labels, "classification"), (None, "links")):
        names = digits.class_names if labels is not None else None
        graph = dataclasses.replace(digits, labels=labels, class_names=names)
        monkeypatch.setattr(cells, "load_graph", lambda *_, graph=graph: graph)
        cell = runner.cell_of(entry, 0, settings(tmp_path))
        assert (cell.task, cell.unseen_ratio) == (task, {"links": 0.2}.get(task, 0.3))


def test_splits_differ_in_split_and_seed(tmp_path):
    entry = tables.experiment_of("digits").entries[-1]
    first, second = (runner.cell_of(entry, split, settings(tmp_path)) for split in (0, 1))
    assert (first.split_seed, second.split_seed) == (0, 1)
    assert second.config.seed == first.config.seed + 1
    assert first.config.model == entry.method == "cade_ma"


def test_recipes_that_stop_early_are_refused_for_the_sake_of_equal_budgets(tmp_path):
    entry = tables.experiment_of("digits").entries[-1]
    chosen = dataclasses.replace(
        settings(tmp_path), recipe=lambda *_: Config(validate_every=5, stop_on="mrr")
    )
    with pytest.raises(InputError, match="same fixed budget"):
        runner.cell_of(entry, 0, chosen)


def test_quick_shortens_training_and_says_so(tmp_path):
    entry = tables.experiment_of("digits").entries[-1]
    assert runner.cell_of(entry, 0, settings(tmp_path)).config.steps == runner.QUICK_STEPS
    results = runner.run(tables.experiment_of("digits"), settings(tmp_path, splits=1))
    assert "quick run" in report.render(results, [])
    assert {entry["column"] for entry in results["entries"]} == {"Digits 30 %"}


def fake_results(**changes):
    """Two methods on three splits, GraphSAGE behind CADE."""

    def entry(row, values, printed, against=None):
        scores = {"logreg": {"micro_f1": runner.summary(values)}}
        scores["sgd"] = scores["logreg"]
        return {
            "row": row,
            "column": "Pubmed 30 %",
            "dataset": "pubmed",
            "method": "m",
            "changes": {},
            "against": against,
            "paper": {"micro_f1": printed},
            "x": 30.0,
            "task": "classification",
            "scores": scores,
            "seconds": runner.summary([1.0]),
            "training_seconds": runner.summary([12.34]),
            "reason": None,
            "cells": [{"flags": {"steps": 7, "fanouts": [20, 10]}}],
        }

    return {
        "experiment": "table1",
        "title": "Table 1",
        "axis": "unseen nodes, %",
        "bars": None,
        "timed": False,
        "quick": False,
        "validating": False,
        "splits": 3,
        "versions": {"numpy": "2"},
        "commit": "abc",
        "date": "2020-01-01",
        "entries": [
            entry("GraphSAGE", [0.80, 0.81, 0.82], 81.32),
            entry("CADE-MS", [0.83, 0.85, 0.84], 83.40, "GraphSAGE"),
        ],
    } | changes


def test_tables_show_ours_beside_the_papers_and_mark_the_best():
    table = report.score_table(fake_results(), "classification", "logreg", "micro_f1")
    assert "| GraphSAGE | 81.0 ± 1.0 [81.32] |" in table
    assert "| CADE-MS | **84.0** ± 1.0 [83.40] |" in table
    assert report.score_table(fake_results(), "links", "paper", "auc") == ""


def test_what_is_neither_better_nor_worse_has_no_best():
    results = fake_results()
    results["entries"][0]["scores"]["attention"] = {"flatness": runner.summary([0.5])}
    table = report.score_table(results, "classification", "attention", "flatness")
    assert "| GraphSAGE | 50.0 " in table


def test_the_report_holds_tests_recipes_times_and_plots(tmp_path):
    path = report.write(fake_results(timed=True), tmp_path / "new")
    text = path.read_text()
    assert "| Pubmed 30 % | CADE-MS - GraphSAGE | logreg micro_f1 | +3.00 | 3 |" in text
    assert "- pubmed, CADE-MS: `--steps=7`" in text
    assert "12.3" in text
    names = {file.name for file in path.parent.iterdir()}
    pictures = {"pubmed-logreg.png", "pubmed-sgd.png", "pubmed-seconds.png"}
    assert names == {"report.md", "results.json"} | pictures
    assert all(f"![{name}]({name})" in text for name in pictures)
    assert json.loads((path.parent / "results.json").read_text()) == fake_results(timed=True)


def test_notes_stay_and_stand_in_the_report(tmp_path):
    (tmp_path / "notes.md").write_text("Smoothing is all.\n")
    for _ in range(2):
        text = report.write(fake_results(axis=None), tmp_path).read_text()
        assert "## Discussion\n\nSmoothing is all.\n\n## Micro-F1" in text


def test_an_ablation_is_drawn_as_bars_and_compared_with_its_recipe(tmp_path):
    path = report.write(fake_results(axis=None, bars="logreg"), tmp_path / "new")
    text = path.read_text()
    compared = text.split("## Against the recipe, paired by split")[1]
    assert "CADE-MS - GraphSAGE | logreg micro_f1 | +3.00 |" in compared
    assert "sgd micro_f1" not in compared
    assert {file.name for file in path.parent.iterdir()} == {
        "report.md",
        "results.json",
        "pubmed-logreg.png",
    }
    assert "![pubmed-logreg.png](pubmed-logreg.png)" in text


def test_paired_tests_are_those_of_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=8).tolist(), rng.normal(size=8).tolist()
    test = paired_test(first, second)
    assert test.t_p == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert test.wilcoxon_p == pytest.approx(stats.wilcoxon(first, second).pvalue)
    assert test.difference == pytest.approx(np.mean(first) - np.mean(second))


def test_one_split_or_equal_differences_have_no_p_value():
    assert paired_test([0.5], [0.4]).t_p is None
    assert paired_test([0.5, 0.5], [0.25, 0.25]).wilcoxon_p is None
    assert paired_test([0.5, 0.6, 0.7], [0.4]).pairs == 1


def test_the_readme_shows_the_committed_reports():
    text = (ROOT / "README.md").read_text()
    assert readme.updated(text, ROOT / "runs" / "reports") == text, "run cade reproduce readme"


def test_the_readme_section_follows_the_results(tmp_path):
    report.write(fake_results(axis=None), tmp_path / "table1")
    text = f"# Title\n\n{readme.BEGIN}\nold\n{readme.END}\nend\n"
    updated = readme.updated(text, tmp_path)
    assert "**84.0** ± 1.0 [83.40]" in updated
    assert "old" not in updated
    assert updated.startswith("# Title\n\n")
    assert updated.endswith(f"{readme.END}\nend\n")
    assert readme.updated(updated, tmp_path) == updated
    with pytest.raises(InputError, match="results:begin"):
        readme.updated("nothing", tmp_path)


def test_of_a_study_the_readme_shows_the_bars(tmp_path):
    report.write(fake_results(axis=None, bars="logreg", validating=True), tmp_path / "ablation")
    section = readme.section(tmp_path)
    assert "![pubmed-logreg](runs/reports/ablation/pubmed-logreg.png)" in section
    assert "Validation data, 3 split(s); [full report](runs/reports/ablation/report.md)" in section
    assert "`cade reproduce ablation --validating`" in section
    assert "84.0" not in section


def test_recipes_are_read_from_flagfiles_and_default_without(tmp_path):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "pubmed-cade_ma.flags").write_text("--model=cade_ma\n--steps=123\n")
    assert reproduce.read_recipe(tmp_path, "links", "pubmed", "cade_ma").steps == 123
    assert reproduce.read_recipe(tmp_path, "links", "ppi", "cade_ma") == Config(model="cade_ma")


def test_committed_recipes_belong_to_the_row_their_name_says():
    found = sorted((ROOT / "flags").glob("*/*-*.flags"))
    assert found
    for path in found:
        dataset, method = path.stem.split("-")
        config = reproduce.read_recipe(ROOT / "flags", path.parent.name, dataset, method)
        assert path.parent.name in ("classification", "links")
        assert config.dataset == dataset
        if method in ("graphsage", "cade_gb", "cade_ms", "cade_ma"):
            assert config.model == method


def test_the_command_writes_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "digits", "--quick", "--methods=raw_features,smoothed_pca"]
    assert app.main(command) == 0
    assert "| RawFeats |" in capsys.readouterr().out
    assert (tmp_path / "runs" / "quick" / "digits" / "report.md").is_file()
    assert len(list((tmp_path / "runs" / "cells").iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["reproduce"], "experiment: expected one of table1"),
        (["reproduce", "table9"], "experiment: expected one of table1"),
        (["reproduce", "digits", "--methods=magic"], "methods: expected some of raw_features"),
        (["reproduce", "digits", "--datasets=pubmed"], "some that digits has"),
        (["reproduce", "digits", "--recipes=/nowhere"], "recipes: expected a folder"),
        (
            ["reproduce", "table1", "--quick", "--data_dir=nowhere", "--methods=raw_features"],
            "a cell with scores",
        ),
    ],
)
def test_mistakes_are_one_line(arguments, complaint, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert app.main(arguments) == 2
    assert complaint in capsys.readouterr().err
