# doc: what people read; manual pages lie beside their programs.
dist_man_MANS += \
	doc/coloc.7 \
	nodesvc/coloc.yaml.5 \
	nodesvc/colocd.8 \
	spank/spank_coloc.8
# End of dist_man_MANS
EXTRA_DIST += doc/results/22.05-v1.results doc/results/22.05-v2.results doc/results/22.05-v2-uml.results doc/results/24.11-v1.results doc/results/24.11-v2.results \
	doc/results/26.05-v1.results doc/results/26.05-v2.results
EXTRA_DIST += doc/results/auto.md doc/results/service.md doc/results/waitpolicy.md
EXTRA_DIST += doc/walks/registration.svg doc/walks/registration.walk doc/walks/sample.svg doc/walks/sample.walk contrib/walk-svg
EXTRA_DIST += contrib/coremap contrib/coremap-svg doc/cores.svg doc/results/cores.map
EXTRA_DIST += contrib/concepts-svg doc/concepts/company.svg doc/concepts/coreset.svg doc/concepts/domain.svg doc/concepts/envelope.svg \
	doc/concepts/lever.svg doc/concepts/life.svg doc/concepts/phase.svg doc/concepts/slice.svg doc/concepts/window.svg
EXTRA_DIST += doc/adopting.md doc/architecture.md doc/compatibility.md doc/concepts.md doc/counters.md \
	doc/faq.md doc/install.md doc/launch-environment.md doc/limits.md doc/model.md doc/recipes.md doc/security.md doc/top.svg doc/troubleshooting.md

TESTS += tests/check-full-device.sh tests/check-in-place.sh tests/check-pictures.sh tests/check-blocks.sh tests/check-docs.sh tests/check-examples.sh tests/check-help.sh
EXTRA_DIST += tests/check-messages.py tests/check-pictures.py
dist_check_SCRIPTS += tests/check-full-device.sh tests/check-in-place.sh tests/check-pictures.sh tests/check-blocks.sh tests/check-docs.sh tests/check-examples.sh tests/check-help.sh
EXTRA_DIST += tests/blocks.sh

# What people print: the quick reference card, and where mandoc is installed the manual pages.
EXTRA_DIST += contrib/card-pdf doc/card.md
CLEANFILES += doc/card.pdf doc/manual.pdf
.PHONY: doc
doc:
	@mkdir -p doc
	@$(srcdir)/contrib/card-pdf $(srcdir)/doc/card.md >doc/card.pdf.new && mv doc/card.pdf.new doc/card.pdf && echo doc/card.pdf
	@if command -v mandoc >/dev/null; then \
	  (cd $(srcdir) && mandoc -T pdf -O paper=a4 doc/coloc.7 nodesvc/ctl/colocctl.1 nodesvc/report/colocacct.1 \
	    nodesvc/coloc.yaml.5 nodesvc/colocd.8 spank/spank_coloc.8 nodesvc/sim/colocsim.1 nodesvc/runtime/libcoloc.3 nodesvc/tasks/libcoloc_tasks.3) \
	    >doc/manual.pdf.new && mv doc/manual.pdf.new doc/manual.pdf && echo doc/manual.pdf; \
	else echo 'doc/manual.pdf is not made: no mandoc (Debian: apt install mandoc)'; fi
