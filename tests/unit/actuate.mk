# Unit tests of nodesvc/actuate; the ledger is its double in memory.
check_PROGRAMS += tests/unit/test_locate tests/unit/test_proc tests/unit/test_actuate \
	tests/unit/test_freeze tests/unit/test_idle tests/unit/test_inject tests/unit/test_mems tests/unit/test_resctrl tests/unit/test_steer_rules tests/unit/test_v2
TESTS += tests/unit/test_locate tests/unit/test_proc tests/unit/test_actuate \
	tests/unit/test_freeze tests/unit/test_idle tests/unit/test_inject tests/unit/test_mems tests/unit/test_resctrl tests/unit/test_steer_rules tests/unit/test_v2
actuate_doubles = \
	tests/unit/fstree.c tests/unit/fstree.h \
	tests/unit/ledger_mem.c tests/unit/ledger_mem.h
actuate_test_libs = libactuate.la libcommon.la $(CHECK_LIBS)
tests_unit_test_locate_SOURCES = tests/unit/test_locate.c $(actuate_doubles)
tests_unit_test_locate_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_locate_LDADD = $(actuate_test_libs)
tests_unit_test_proc_SOURCES = tests/unit/test_proc.c $(actuate_doubles)
tests_unit_test_proc_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_proc_LDADD = $(actuate_test_libs)
tests_unit_test_actuate_SOURCES = tests/unit/test_actuate.c $(actuate_doubles)
tests_unit_test_actuate_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_actuate_LDADD = $(actuate_test_libs)
tests_unit_test_v2_SOURCES = tests/unit/test_v2.c $(actuate_doubles)
tests_unit_test_v2_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_v2_LDADD = $(actuate_test_libs)
tests_unit_test_steer_rules_SOURCES = tests/unit/test_steer_rules.c $(actuate_doubles)
tests_unit_test_steer_rules_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_steer_rules_LDADD = $(actuate_test_libs)
tests_unit_test_freeze_SOURCES = tests/unit/test_freeze.c $(actuate_doubles)
tests_unit_test_freeze_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_freeze_LDADD = $(actuate_test_libs)
tests_unit_test_idle_SOURCES = tests/unit/test_idle.c $(actuate_doubles)
tests_unit_test_idle_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_idle_LDADD = $(actuate_test_libs)
# The kernel is a double, too: kernel_fake.h.
kernel_fake_link = -Wl,--wrap=fsroot_read,--wrap=fsroot_read_once,--wrap=fsroot_read_alloc,--wrap=fsroot_openat \
	-Wl,--wrap=fsroot_is_there,--wrap=fsroot_stat,--wrap=fsroot_write,--wrap=proc_get_mask,--wrap=proc_set_mask \
	-Wl,--wrap=proc_cpu_ns,--wrap=proc_executable,--wrap=clock_gettime
tests_unit_test_inject_SOURCES = tests/unit/test_inject.c $(actuate_doubles) \
	tests/unit/kernel_fake.c tests/unit/kernel_fake.h
tests_unit_test_inject_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_inject_LDFLAGS = $(AM_LDFLAGS) $(kernel_fake_link)
tests_unit_test_inject_LDADD = $(actuate_test_libs)
tests_unit_test_mems_SOURCES = tests/unit/test_mems.c $(actuate_doubles)
tests_unit_test_mems_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_mems_LDADD = $(actuate_test_libs)
tests_unit_test_resctrl_SOURCES = tests/unit/test_resctrl.c tests/unit/resctrl_tree.c tests/unit/resctrl_tree.h \
	$(actuate_doubles)
tests_unit_test_resctrl_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_resctrl_LDADD = $(actuate_test_libs)
