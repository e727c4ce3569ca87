# doc: what people read; manual pages lie beside their programs.
dist_man_MANS += \
	doc/coloc.7 \
	nodesvc/coloc.yaml.5 \
	nodesvc/colocd.8 \
	spank/spank_coloc.8
# End of dist_man_MANS
EXTRA_DIST += doc/results/22.05-v1.results doc/results/22.05-v2.results doc/results/22.05-v2-uml.results doc/results/24.11-v1.results doc/results/24.11-v2.results \
	doc/results/26.05-v1.results doc/results/26.05-v2.results
EXTRA_DIST += doc/results/compat-notes.md doc/results/service.md doc/results/waitpolicy.md
EXTRA_DIST += doc/walks/registration.svg doc/walks/registration.walk doc/walks/sample.svg doc/walks/sample.walk contrib/walk-svg
EXTRA_DIST += contrib/coremap contrib/coremap-svg doc/cores.svg doc/results/cores.map
EXTRA_DIST += contrib/concepts-svg doc/concepts/company.svg doc/concepts/coreset.svg doc/concepts/domain.svg doc/concepts/envelope.svg \
	doc/concepts/lever.svg doc/concepts/life.svg doc/concepts/phase.svg doc/concepts/slice.svg doc/concepts/window.svg
EXTRA_DIST += doc/adopting.md doc/architecture.md doc/compatibility.md doc/concepts.md doc/counters.md \
	doc/faq.md doc/install.md doc/launch-environment.md doc/limits.md doc/model.md doc/security.md doc/top.svg doc/troubleshooting.md

TESTS += tests/check-full-device.sh tests/check-in-place.sh tests/check-pictures.sh tests/check-blocks.sh tests/check-docs.sh tests/check-examples.sh tests/check-help.sh
EXTRA_DIST += tests/check-messages.py tests/check-pictures.py
dist_check_SCRIPTS += tests/check-full-device.sh tests/check-in-place.sh tests/check-pictures.sh tests/check-blocks.sh tests/check-docs.sh tests/check-examples.sh tests/check-help.sh
EXTRA_DIST += tests/blocks.sh
