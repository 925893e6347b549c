#!/usr/bin/env python3
"""Pictures made from real profiles: the HTML report is opened in a real browser and used, the SVG
is parsed as XML, and both must agree with the table."""
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

from support.tap import ROOT, Skip, go_profiles, main, scratch, test, vestal

BROWSER = os.path.join(ROOT, "tests/browser")
SVG = "{http://www.w3.org/2000/svg}"


def path(name):
    return os.path.join(scratch(), name)


def node_profile():
    if not shutil.which("node"):
        raise Skip("no node")
    out = path("node.cpuprofile")
    if not os.path.exists(out):
        work = ("function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); "
                "return s } const t = Date.now(); while (Date.now() - t < 300) hot(1e5)")
        subprocess.run(["node", "--cpu-prof", "--cpu-prof-dir", scratch(), "--cpu-prof-name",
                        "node.cpuprofile", "-e", work], check=True, capture_output=True, timeout=60)
    return out


def profiles():
    """Real ones: of Node.js, and of Go when it is here."""
    found = [node_profile()]
    try:
        folder = go_profiles()
        found += [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                  if re.match(r"(cpu|heap)\b", name)]
    except Skip:
        pass
    return found


@test
def the_report_of_real_profiles_works_in_a_browser():
    if not os.path.isdir(os.path.join(BROWSER, "node_modules")) or not shutil.which("chromium"):
        raise Skip("no playwright-core or no chromium")
    pages = []
    for i, file in enumerate(profiles()):
        pages.append(path(f"report{i}.html"))
        vestal("flame", "-f", file, "-o", pages[-1])
    pages.append(path("difference.html"))
    vestal("diff", "-f", profiles()[0], profiles()[0], "--html", pages[-1])
    done = subprocess.run(["node", os.path.join(BROWSER, "run.mjs"), "--html", *pages],
                          capture_output=True, text=True, timeout=500, check=False)
    bad = [line for line in done.stdout.splitlines() if line.startswith(("not ok", "#"))]
    assert done.returncode == 0 and re.search(r"^ok ", done.stdout, re.M), "\n".join(bad[:20])


@test
def the_svg_of_real_profiles_is_xml_that_agrees_with_the_table():
    for file in profiles():
        out = path("flame.svg")
        vestal("flame", "-f", file, "-o", out)
        titles = [title.text for title in
                  xml.etree.ElementTree.parse(out).getroot().iter(SVG + "title")]
        top = json.loads(vestal("top", "--json", "--keep-all", "-n", "1", "--cum", file)[0])
        name = top["rows"][0]["name"]
        assert titles[0].startswith("all ("), titles[0]
        assert any(text.startswith(name + " (") for text in titles), (name, titles[:5])


main()
