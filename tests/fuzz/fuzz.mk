# libFuzzer harnesses: `make fuzz` (needs clang) builds each and runs it FUZZ_SECONDS long from its
# corpus. Not part of `make check`. What it finds is left in tests/fuzz of the build folder.
FUZZ_CC = clang
FUZZ_SECONDS = 20
FUZZ_CFLAGS = -std=gnu17 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
fuzz_harnesses = coreset msg proc
fuzz_coreset_sources = common/coreset.c common/err.c
fuzz_msg_sources = common/msg.c common/err.c
fuzz_proc_sources = nodesvc/actuate/locate.c nodesvc/actuate/proc.c \
	common/coreset.c common/err.c common/fsroot.c

.PHONY: fuzz
fuzz:
	@$(MKDIR_P) tests/fuzz; new=`mktemp -d`; trap 'rm -rf "$$new"' EXIT; \
	for f in $(fuzz_harnesses); do \
	  case $$f in \
	  coreset) src='$(fuzz_coreset_sources)' ;; \
	  msg) src='$(fuzz_msg_sources)' ;; \
	  proc) src='$(fuzz_proc_sources)' ;; \
	  esac; \
	  list='$(srcdir)/tests/fuzz/fuzz_'$$f.c; \
	  for s in $$src; do list="$$list $(srcdir)/$$s"; done; \
	  $(FUZZ_CC) $(FUZZ_CFLAGS) -D_GNU_SOURCE -I$(srcdir) $$list -o tests/fuzz/fuzz_$$f || exit 1; \
	  $(MKDIR_P) "$$new/$$f"; \
	  tests/fuzz/fuzz_$$f -max_total_time=$(FUZZ_SECONDS) -max_len=4096 \
	    -artifact_prefix=tests/fuzz/ "$$new/$$f" $(srcdir)/tests/fuzz/corpus/$$f \
	    >tests/fuzz/fuzz_$$f.log 2>&1 || { cat tests/fuzz/fuzz_$$f.log; exit 1; }; \
	  echo "fuzz_$$f: `sed -n 's/^Done \\([0-9]*\\) runs.*/\\1/p' tests/fuzz/fuzz_$$f.log` inputs, nothing found"; \
	done

CLEANFILES += \
	tests/fuzz/fuzz_coreset tests/fuzz/fuzz_coreset.log \
	tests/fuzz/fuzz_msg tests/fuzz/fuzz_msg.log \
	tests/fuzz/fuzz_proc tests/fuzz/fuzz_proc.log
EXTRA_DIST += \
	tests/fuzz/corpus/coreset/list \
	tests/fuzz/corpus/coreset/sparse \
	tests/fuzz/corpus/msg/ping \
	tests/fuzz/corpus/msg/step_start \
	tests/fuzz/corpus/proc/cgroup \
	tests/fuzz/corpus/proc/mountinfo \
	tests/fuzz/corpus/proc/stat \
	tests/fuzz/fuzz_coreset.c \
	tests/fuzz/fuzz_msg.c \
	tests/fuzz/fuzz_proc.c
