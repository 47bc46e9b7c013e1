import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cade_tf.cli import app
from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.experiments import cells, declarations, paper, report, runner, summary
from cade_tf.experiments.options import ReproduceOptions
from cade_tf.experiments.report import paired_test
from cade_tf.presets.paper import options as paper_options

BASELINES = ("raw_features", "smoothed_pca")


def settings(tmp_path, **changes):
    values = {"methods": BASELINES, "splits": 2, "quick": True} | changes
    return ReproduceOptions(cells=str(tmp_path / "cells"), **values)


def entry_of(name, row, column, preset):
    entries = declarations.experiment_of(name).entries
    (entry,) = (e for e in entries if (e.row, e.column, e.preset) == (row, column, preset))
    return entry


def page(results):
    return "\n\n".join(report.render(results))


def run_entries(results):
    return [entry for entry in results["entries"] if "scores" in entry]


def test_every_experiment_names_known_methods_and_data():
    for name in declarations.EXPERIMENTS:
        experiment = declarations.experiment_of(name)
        assert any(entry.quick for entry in experiment.entries)
        places = [(entry.preset, entry.row, entry.column) for entry in experiment.entries]
        assert len(places) == len(set(places))
        for entry in experiment.entries:
            Config(**entry.changes)


def test_the_papers_numbers_stand_where_they_belong():
    def printed(*place):
        return dict(entry_of(*place).paper)

    ppi, reddit = "PPI (reconstructed labels)", "Reddit"
    assert printed("table1", "CADE-MA", "BlogCatalog 50 %", "paper") == {"micro_f1": 79.04}
    assert printed("table1", "CADE-MA", "BlogCatalog 50 %", "recommended") == {"micro_f1": 79.04}
    assert printed("table1", "Smoothed PCA", "Pubmed 10 %", None) == {}
    assert printed("table2", "GraphSAGE-LSTM", "BlogCatalog 30 %", "paper") == {}
    assert printed("table2", "CADE-MS-pool", ppi, "paper") == {"micro_f1": 56.66}
    assert printed("table2", "Graph2Gauss", reddit, None) == {"micro_f1": 72.48}
    assert printed("table3", "GraphSAGE", "Pubmed 40 %", "paper") == {"auc": 81.07, "ap": 77.47}
    column = "subPPI (reconstructed labels) 225"
    assert printed("sampling", "CADE-gb", column, "paper") == {"micro_f1": 55.58}
    assert paper.printed("table1", "pubmed", "cade_ms", 1) == {"micro_f1": 83.40}


def test_an_experiment_changes_its_subject_and_its_budget_and_nothing_else():
    subjects = {
        "table1": set(),
        "table2": {"aggregator"},
        "table3": set(),
        "sampling": {"fanouts", "k"},
        "dimensions": {"dim"},
        "k": {"k", "fanouts", "global_bias"},
        "digits": set(),
    }
    assert set(subjects) == set(declarations.EXPERIMENTS)
    for name, subject in subjects.items():
        for entry in declarations.experiment_of(name).entries:
            allowed = subject | ({"steps", "epochs"} if entry.preset == "paper" else set())
            if entry.row.startswith(declarations.UNDIVIDED_TITLE):
                # There for comparison: the paper prints no number for it that could be reached.
                assert not entry.paper
                allowed |= set(declarations.UNDIVIDED)
            assert set(entry.changes) <= allowed


def test_the_undivided_rows_keep_the_cells_that_had_the_dot_products_as_printed(tmp_path):
    chosen = settings(tmp_path, quick=False)
    for row in (declarations.UNDIVIDED_TITLE, declarations.UNDIVIDED_TITLE + " (full pass)"):
        cell = runner.cell_of(entry_of("table1", row, "BlogCatalog 30 %", "paper"), 0, chosen)
        assert cell.config.attention_temperature == 1.0
    divided = runner.cell_of(entry_of("table1", "CADE-MS", "BlogCatalog 30 %", "paper"), 0, chosen)
    assert divided.config.attention_temperature == 4.0


def test_table_2_has_one_k_and_its_mean_rows_are_the_cells_of_table_1(tmp_path):
    chosen = settings(tmp_path, quick=False)
    first = entry_of("table1", "CADE-MS", "Pubmed 30 %", "paper")
    second = entry_of("table2", "CADE-MS-mean", "Pubmed 30 %", "paper")
    keys = {runner.cell_of(entry, 0, chosen).key() for entry in (first, second)}
    assert len(keys) == 1
    ks = {
        runner.cell_of(entry, 0, chosen).config.k
        for entry in declarations.experiment_of("table2").entries
        if entry.preset == "paper"
    }
    assert ks == {10}


def test_the_column_of_the_full_pass_is_the_preset_itself(tmp_path):
    entry = entry_of("table1", "CADE-MA (full pass)", "Pubmed 30 %", "paper")
    cell = runner.cell_of(entry, 0, settings(tmp_path, quick=False))
    expected = Config(**paper_options("cade_ma"))
    assert cell.settings() == {name: getattr(expected, name) for name in cell.settings()}


def test_an_experiment_resumes_from_its_cells(tmp_path, monkeypatch):
    experiment = declarations.experiment_of("digits")
    first = runner.run(experiment, settings(tmp_path))
    monkeypatch.setattr(cells, "compute", lambda *_: pytest.fail("computed again"))
    second = runner.run(experiment, settings(tmp_path))
    assert first["entries"] == second["entries"]
    assert [len(entry["cells"]) for entry in run_entries(second)] == [2, 2]


def test_a_report_shows_what_others_computed_before(tmp_path):
    experiment = declarations.experiment_of("digits")
    runner.run(experiment, settings(tmp_path, methods=BASELINES[:1]))
    results = runner.run(experiment, settings(tmp_path, methods=BASELINES[1:]))
    assert [entry["method"] for entry in run_entries(results)] == list(BASELINES)


def test_the_cells_of_a_committed_report_are_not_computed_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "digits", "--quick", "--splits=2", f"--methods={','.join(BASELINES)}"]
    assert app.main([*command, "--cells=elsewhere"]) == 0
    folder = Path("runs/quick/digits")
    first = report.read(folder)
    monkeypatch.setattr(cells, "compute", lambda *_: pytest.fail("computed again"))
    assert app.main(command) == 0
    assert report.read(folder)["entries"] == first["entries"]
    assert cells.restore(first, Path("runs/cells")) == 0
    assert cells.restore(first, Path("third")) == 4


def test_a_damaged_report_is_said(tmp_path):
    with pytest.raises(InputError, match="Run it first"):
        report.read(tmp_path)
    for text, missing in (("{", "JSON"), ("[]", "a JSON object"), ("{}", "entries")):
        (tmp_path / "results.json").write_text(text)
        with pytest.raises(InputError, match=missing):
            report.read(tmp_path)


def test_means_and_spreads_are_over_splits(tmp_path):
    results = runner.run(declarations.experiment_of("digits"), settings(tmp_path))
    score = run_entries(results)[0]["scores"]["logreg"]["micro_f1"]
    assert score["mean"] == pytest.approx(np.mean(score["values"]))
    assert score["std"] == pytest.approx(np.std(score["values"], ddof=1))
    assert len(set(score["values"])) == 2


def test_a_stopped_experiment_is_reported_as_far_as_it_went(tmp_path):
    experiment = declarations.experiment_of("digits")
    runner.run(experiment, settings(tmp_path, methods=BASELINES[:1], splits=1))
    results = runner.run(experiment, settings(tmp_path, report_only=True))
    assert [len(entry["cells"]) for entry in run_entries(results)] == [1]
    text = page(results)
    assert "split 0 of 0, 1 only" in text
    assert "| Smoothed PCA | not run (" in text
    assert ") not run yet" in text


def test_missing_data_leave_a_reason_and_the_rest_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("CADE_DATA_DIR", raising=False)
    chosen = settings(tmp_path, data_dir=str(tmp_path / "nothing"), splits=1)
    results = runner.run(declarations.experiment_of("table1"), chosen)
    tried = [e for e in results["entries"] if e["method"] in BASELINES]
    assert all("pubmed" in e["reason"] or "blogcatalog" in e["reason"] for e in tried)
    assert "cade data download --dataset=pubmed" in page(results)


def test_reddit_stands_in_its_table_with_the_reason(tmp_path):
    experiment = declarations.experiment_of("table2")
    results = runner.run(
        experiment, settings(tmp_path, methods=BASELINES[:1], quick=False, report_only=True)
    )
    text = page(results)
    assert "not run [89.73]" in text
    assert declarations.NO_REDDIT in text


def test_a_training_that_diverges_does_not_stop_the_others(tmp_path, monkeypatch):
    compute = cells.compute

    def diverging(cell, *args):
        if cell.method == "raw_features":
            raise FloatingPointError("The loss is not finite")
        return compute(cell, *args)

    monkeypatch.setattr(cells, "compute", diverging)
    results = runner.run(declarations.experiment_of("digits"), settings(tmp_path, splits=1))
    assert results["entries"][0]["reason"] == "The loss is not finite"
    assert "scores" in results["entries"][1]


def test_splits_differ_in_split_and_seed_and_options_are_chosen_on_others(tmp_path):
    entry = entry_of("digits", "CADE-MA", "Digits 30 %", "paper")
    first, second = (runner.cell_of(entry, split, settings(tmp_path)) for split in (0, 1))
    assert (first.split_seed, second.split_seed) == (0, 1)
    assert (first.config.seed, second.config.seed) == (0, 1)
    assert first.config.model == "cade_ma"
    results = runner.run(declarations.experiment_of("digits"), settings(tmp_path, validating=True))
    assert results["splits"] == [100, 101]
    used = {cell["split_seed"] for entry in run_entries(results) for cell in entry["cells"]}
    assert used == {100, 101}


def test_quick_shortens_training_and_says_so(tmp_path):
    entry = entry_of("digits", "CADE-MA", "Digits 30 %", "paper")
    config = runner.cell_of(entry, 0, settings(tmp_path)).config
    assert (config.steps, config.epochs) == (runner.QUICK_STEPS, 0)
    results = runner.run(declarations.experiment_of("digits"), settings(tmp_path, splits=1))
    assert "quick run" in page(results)
    assert {entry["column"] for entry in results["entries"]} == {"Digits 30 %"}


def fake_results(**changes):
    """Two methods on three splits, GraphSAGE below CADE, which has collapsed once."""

    def entry(row, method, values, printed, against=None, warning=None):
        scores = {"logreg": {"micro_f1": runner.summary(values)}}
        scores["sgd"] = scores["logreg"]
        return {
            "row": row,
            "column": "Pubmed 30 %",
            "dataset": "pubmed",
            "task": "classification",
            "method": method,
            "preset": "paper",
            "changes": {"steps": 7, "fanouts": [20, 10]},
            "against": against,
            "paper": {"micro_f1": printed},
            "x": 30.0,
            "scores": scores,
            "seconds": runner.summary([1.0]),
            "step_milliseconds": runner.summary([12.0, 14.0]),
            "warning": warning,
            "reason": None,
            "cells": [{"split_seed": split, "commit": "abc"} for split in range(3)],
        }

    return {
        "experiment": "table1",
        "title": "Table 1",
        "axis": "unseen nodes, %",
        "quick": False,
        "validating": False,
        "splits": [0, 1, 2],
        "versions": {"numpy": "2"},
        "commit": "abc",
        "date": "2020-01-01",
        "entries": [
            entry("GraphSAGE", "graphsage", [0.80, 0.81, 0.82], 81.32),
            entry("CADE-MS", "cade_ms", [0.83, 0.85, 0.84], 83.40, "GraphSAGE", "mean cosine 0.99"),
        ],
    } | changes


def test_tables_show_ours_next_to_the_papers_and_mark_the_best():
    table = report.score_table(fake_results(), "classification", "logreg", "micro_f1")
    assert "| *the paper's method* |" in table
    assert "| GraphSAGE | 81.0 ± 1.0 [81.32] |" in table
    assert "| CADE-MS | **84.0** ± 1.0 [83.40] (a) |" in table
    assert report.score_table(fake_results(), "links", "paper", "auc") == ""


def test_a_collapse_stands_next_to_its_cell():
    text = page(fake_results())
    assert "**84.0** ± 1.0 [83.40] (a)" in text
    assert "- (a) **collapsed**: mean cosine 0.99" in text


def test_what_is_neither_better_nor_worse_has_no_best():
    results = fake_results()
    results["entries"][0]["scores"]["attention"] = {"flatness": runner.summary([0.5])}
    table = report.score_table(results, "classification", "attention", "flatness")
    assert "| GraphSAGE | 50.0 " in table


def test_the_report_holds_tests_changes_times_and_plots(tmp_path):
    path = report.write(fake_results(), tmp_path / "new")
    text = path.read_text()
    expected = "| paper | Pubmed 30 % | CADE-MS - GraphSAGE | logreg micro_f1 | +3.00 | 3 |"
    assert expected in text
    assert "- `--preset=paper` with `--steps=7` `--fanouts=20,10`: GraphSAGE, CADE-MS" in text
    assert "| GraphSAGE | 13 ± 1 |" in text
    names = {file.name for file in path.parent.iterdir()}
    pictures = {f"pubmed-paper-{what}.png" for what in ("logreg", "sgd", "step")}
    assert names == {"report.md", "results.json"} | pictures
    assert all(f"![{name}]({name})" in text for name in pictures)
    assert json.loads((path.parent / "results.json").read_text()) == fake_results()


def test_notes_stay_and_stand_in_the_report(tmp_path):
    (tmp_path / "notes.md").write_text("Smoothing is all.\n")
    for _ in range(2):
        text = report.write(fake_results(axis=None), tmp_path).read_text()
        assert "## Discussion\n\nSmoothing is all.\n\n## Micro-F1" in text


def test_claims_compare_the_splits_that_both_have():
    results = fake_results()
    cade = results["entries"][1]
    cade["scores"]["logreg"] = {"micro_f1": runner.summary([0.805])}
    cade["cells"] = [{"split_seed": 0, "commit": "abc"}]
    claim = next(claim for claim in summary.CLAIMS if claim.text.startswith("CADE is above Graph"))
    (found,) = claim.compare(results["entries"])
    # The mean over all splits of GraphSAGE is 81.0.
    assert (found.first, found.second, found.holds) == (80.5, 80.0, True)
    cade["cells"] = [{"split_seed": 9, "commit": "abc"}]
    (found,) = claim.compare(results["entries"])
    assert (found.first, found.holds) == (None, False)


def test_paired_tests_are_those_of_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=8).tolist(), rng.normal(size=8).tolist()
    difference, pairs, t_p, wilcoxon_p = paired_test(first, second)
    assert float(t_p) == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=5e-4)
    assert float(wilcoxon_p) == pytest.approx(stats.wilcoxon(first, second).pvalue, abs=5e-4)
    assert float(difference) == pytest.approx(100 * (np.mean(first) - np.mean(second)), abs=5e-3)
    assert pairs == "8"


def test_one_split_or_equal_differences_have_no_p_value():
    assert paired_test([0.5], [0.4]) == ("+10.00", "1", "", "")
    assert paired_test([0.5, 0.5], [0.25, 0.25]) == ("+25.00", "2", "", "")
    assert paired_test([0.5, 0.6, 0.7], [0.4])[1] == "1"


def test_the_page_of_claims_follows_the_results(tmp_path):
    report.write(fake_results(axis=None), tmp_path / "table1")
    text = summary.write(tmp_path).read_text()
    assert "| [table1](table1/report.md), GraphSAGE | 1 | 0 / 0 of 1 | not run |" in text
    assert "GraphSAGE Pubmed 30 % by 0.3 |" in text
    assert "| [table1](table1/report.md), CADE | 1 | 1 / 1 of 1 | not run |  |" in text
    over = "CADE-MS over GraphSAGE, Pubmed 30 % 84.0 / 81.0"
    assert f"| CADE is above GraphSAGE (Table 1) | holds: {over} | not run |" in text
    assert "| CADE-MS is best at K = 5 (Figure 5) | not run | not run |" in text
    assert "- table3: not run" in text


def test_a_claim_that_fails_once_does_not_hold():
    good = summary.Comparison(84.0, 81.0, True, "A over B")
    bad = summary.Comparison(80.0, 81.0, False, "C over B")
    absent = summary.Comparison(None, 81.0, False, "D over B")
    assert summary.verdict([good, good]) == "holds in 2 of 2: A over B 84.0 / 81.0"
    assert summary.verdict([good, bad, absent]) == (
        "**does not hold** in 1 of 2: C over B 80.0 / 81.0; 1 not run"
    )
    assert summary.verdict([absent]) == "not run"


@pytest.mark.parametrize(("many", "verdict"), [(21.0, "holds"), (23.0, "**does not hold**")])
def test_the_time_of_a_step_decides_whether_it_depends_on_k(many, verdict):
    def entry(k, milliseconds):
        return {"method": "cade_ma", "x": k, "step_milliseconds": runner.summary([milliseconds])}

    claim = next(claim for claim in summary.CLAIMS if "does not depend on K" in claim.text)
    found = summary.verdict(claim.compare([entry(1, 20.0), entry(20, many)]))
    assert found == f"{verdict}: milliseconds per step at K = 20 and at K = 1 {many} / 20.0"


def test_every_claim_is_tested_by_entries_that_its_experiment_has():
    for claim in summary.CLAIMS:
        entries = [
            dataclasses.asdict(entry) | {"reason": "not run"}
            for entry in declarations.experiment_of(claim.experiment).entries
            if entry.preset in ("paper", None)
        ]
        assert claim.compare(entries), claim.text


def test_the_committed_page_of_claims_is_that_of_the_committed_reports(tmp_path):
    folder = Path(__file__).resolve().parents[2] / "runs" / "reports"
    results = {
        name: report.read(folder / name)
        for name in declarations.EXPERIMENTS
        if (folder / name / report.RESULTS_FILE).is_file()
    }
    others = [n for n in summary.OTHER_REPORTS if (folder / n / report.REPORT_FILE).is_file()]
    written = (folder / summary.FILE).read_text()
    expected = "\n\n".join(summary.render(results, others)) + "\n"
    assert written == expected, "run cade reproduce summary"


def test_data_that_are_not_there_are_shown_with_the_papers_numbers(tmp_path, monkeypatch):
    monkeypatch.delenv("CADE_DATA_DIR", raising=False)
    text = report.write_data(tmp_path, str(tmp_path / "nothing")).read_text()
    assert "| Pubmed | not available [19,717] | not available [44,324] |" in text


def test_the_command_writes_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "digits", "--quick", f"--methods={','.join(BASELINES)}"]
    assert app.main(command) == 0
    assert "| RawFeats |" in capsys.readouterr().out
    assert (tmp_path / "runs" / "quick" / "digits" / "report.md").is_file()
    assert len(list((tmp_path / "runs" / "cells").iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["reproduce"], "experiment: expected one of table1"),
        (["reproduce", "table9"], "experiment: expected one of table1"),
        (["reproduce", "digits", "--methods=magic"], "methods: expected one of raw_features"),
        (["reproduce", "digits", "--datasets=pubmed"], "datasets: expected one of digits,"),
        (["reproduce", "digits", "--rows=RawFeats,Raw"], "rows: expected one of RawFeats,"),
        (
            ["reproduce", "digits", "--rows=RawFeats", "--methods=graphsage"],
            "a choice that leaves something of digits",
        ),
        (["reproduce", "digits", "--preset=best"], "preset: expected one of paper"),
        (["reproduce", "digits", "--core=4096"], "core: expected one of"),
        (["reproduce", "curve", "--datasets=ppi"], "datasets: expected one of pubmed,"),
        (["reproduce", "digits", "--fresh", "--report_only"], "report_only"),
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


def test_cells_of_a_process_of_their_own_are_those_of_this_one(tmp_path):
    experiment = declarations.experiment_of("digits")
    here = runner.run(experiment, settings(tmp_path / "here", methods=BASELINES[:1], splits=1))
    there = runner.run(
        experiment,
        settings(tmp_path / "there", methods=BASELINES[:1], splits=1),
        cells_per_process=1,
    )
    scores = [
        [entry["scores"] for entry in results["entries"] if "scores" in entry]
        for results in (here, there)
    ]
    assert scores[0]
    assert scores[0] == scores[1]
