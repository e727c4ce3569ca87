# doc: what people read; manual pages lie beside their programs.
dist_man_MANS += \
	doc/coloc.7 \
	nodesvc/coloc.yaml.5 \
	nodesvc/colocd.8 \
	spank/spank_coloc.8
# End of dist_man_MANS
EXTRA_DIST += doc/architecture.md doc/counters.md doc/compatibility.md
EXTRA_DIST += doc/architecture.md doc/counters.md doc/security.md
EXTRA_DIST += doc/architecture.md doc/counters.md doc/launch-environment.md

TESTS += tests/check-docs.sh
dist_check_SCRIPTS += tests/check-docs.sh
