# gpusort: sorts of large results on a GPU, or faster on the CPU.
#
# Builds with PGXS against the PostgreSQL that PG_CONFIG names.  `make help` lists the targets.  The targets
# that set up a machine themselves (demo, test, bench, random, setup) must work before there is any
# PostgreSQL, so nothing here may fail when pg_config is missing.

MODULE_big = gpusort
EXTENSION = gpusort
# The one place that says the version is gpusort.control.
EXTENSION_VERSION := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" gpusort.control)
DATA = sql/gpusort--$(EXTENSION_VERSION).sql $(sort $(wildcard sql/gpusort--*--*.sql))
# The client of gpusortd is a part of the extension; cuda.mk compiles it once more for gpusortd's tests.
CLIENT_OBJS = $(patsubst %.c,%.o,$(sort $(wildcard cuda/daemon/client/*.c)))
# src/ has rooms; their READMEs say which may include which.
SOURCES = $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c))
SOURCE_HEADERS = $(wildcard src/*/*.h src/*/*/*.h)
OBJS = $(SOURCES:.c=.o) $(CLIENT_OBJS)

# Calls inside the library go straight, not through its table of exported functions.
SHLIB_LINK = -Wl,-Bsymbolic-functions

# With COVERAGE=1 the code counts the executions of its lines, for tools/coverage; with SANITIZE=1 gcc's
# sanitizers check it, for tools/test --under asan.  Warnings are errors with WERROR=1.  What is for tests
# alone is compiled in less time: without debug information (ONE_LIBRARY=1), hardly optimised (TIGHT=1; what
# gcc warns of then is not so).  PostgreSQL hands the flags of the gcc it was built with to any compiler;
# clang would warn about those it doesn't know, and about gcc's attributes in PostgreSQL's headers.
include src/c_standard.mk
gcc_flags_for_clang = -Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-ignored-attributes
PG_CPPFLAGS = -I$(CURDIR)/src -I$(CURDIR)/cuda -DGPUSORT_VERSION='"$(EXTENSION_VERSION)"' $(if $(TIGHT),$(SORT_TIGHT) $(MEMORY_TIGHT)) \
	$(if $(GPUSORTD_PATH),-DGPUSORTD_PATH='"$(GPUSORTD_PATH)"')
PG_CFLAGS = $(C_STANDARD) -O$(if $(TIGHT),1,3) -Wall -Wextra -Winit-self -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	$(if $(ONE_LIBRARY),$(if $(SANITIZE),,-g0)) \
	$(if $(findstring clang,$(CC)),$(gcc_flags_for_clang)) $(if $(WERROR),$(if $(TIGHT),,-Werror)) $(if $(COVERAGE),-O1 --coverage) \
	$(if $(SANITIZE),-O1 -fno-omit-frame-pointer -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all)

# Thresholds lowered, so that tests with few rows and little memory reach what takes many otherwise: of the
# sorts (recursion, scratch memory, the plain C that other processors run), and with TIGHT=1, for tests alone,
# of chunks, runs, the ways of ICU's sort keys, bounds, and workers that take part as well; and a process that
# begins to go on alone gives the others time, in which their rows were once counted nowhere.  There a process
# may only release locks that it has taken (base/spin.h).
SORT_TIGHT = -DMEMORY_SPOILED -DSORT_PORTABLE -DSORT_SCRATCH_SHARE=64 -DSORT_SCRATCH_MIN=256 -DSORT_MAX_DEPTH=2 \
	-DSORT_SLICE_ROWS=200 -DSORT_PARALLEL_MIN_ROWS=64
MEMORY_TIGHT = -DLOCKS_CHECKED -DCHUNK_SIZE_MIN=4096 -DCHUNK_SIZE_MAX=16384 -DSHARED_CHUNK_SIZE_MIN=4096 -DSHARED_CHUNK_SIZE_MAX=16384 \
	-DGENERATIONS_MAX=6 -DMERGE_BUFFER_MIN=512 -DMERGE_FAN_IN_MAX=6 -DICU_ASCII_AFTER=50 -DICU_CACHE_ENTRIES=4 -DBOUND_TIGHT -DCODES_TIGHT -DBYTES_PER_LOADER=20000 -DMILESTONE_DISTANCE_MIN=200 -DSORT_SHARE_WORKERS=3 \
	-DWINDOW_SIZE_MIN=1024 -DWINDOW_SIZE_MAX=4096 -DHELPED_ROWS_MIN=100 -DHELPERS_MIN=1 \
	-DSHARE_BEGINNING=0 -DSHARE_AHEAD_OF_USED=1 -DSHARE_AHEAD_OF_FILES=1

# regress/schedule is the one list of regression tests; installcheck runs them one after the other.
REGRESS = $(shell sed -n 's/^test: *//p' regress/schedule)
REGRESS_OPTS = --inputdir=regress
ISOLATION = $(patsubst regress/specs/%.spec,%,$(sort $(wildcard regress/specs/*.spec)))
ISOLATION_OPTS = --inputdir=regress --outputdir=.

EXTRA_CLEAN = bench/cpu/cpu_sort bench/cpu/cpu_sort_tight bench/cpu/cpu_rivals bench/cpu/rivals/*.o $(CUDA_CLEAN) results output_iso tmp_check tmp_check_iso log regression.diffs regression.out

# Bitcode is for inlining functions into queries, which none of gpusort's is worth; it would take clang, and
# as long again.
override with_llvm = no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
# Debian's servers come with PGXS, but without headers.
SERVER_HEADER := $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)/postgres.h

ifneq ($(and $(wildcard $(PGXS)),$(wildcard $(SERVER_HEADER))),)
include $(PGXS)
# These define it themselves, for they are compiled without PostgreSQL too.
$(CLIENT_OBJS): CPPFLAGS := $(filter-out -D_GNU_SOURCE,$(CPPFLAGS))
# PGXS knows no header dependencies.
$(OBJS): $(SOURCE_HEADERS) gpusort.control $(wildcard cuda/daemon/client/*.h cuda/daemon/protocol/*.h)

# The compiler's warnings, without its code: for tools/lint.
syntax: $(OBJS:.o=.syntax)
$(CLIENT_OBJS:.o=.syntax): CPPFLAGS := $(filter-out -D_GNU_SOURCE,$(CPPFLAGS))
$(OBJS:.o=.syntax): %.syntax: %.c
	@$(CC) $(CPPFLAGS) $(CFLAGS) -fsyntax-only $<
.PHONY: syntax $(OBJS:.o=.syntax)

# gpusortd is installed where it was built; without nvcc there is none, and all works on the CPU.  It goes
# beside the server's programs; with GPUSORTD_PATH=... there, and the library looks there as well, as packages
# have it.
GPUSORTD = cuda/daemon/gpusortd
GPUSORTD_TARGET = $(DESTDIR)$(or $(GPUSORTD_PATH),$(bindir)/gpusortd)
install: install-gpusortd
install-gpusortd:
	$(if $(wildcard $(GPUSORTD)),$(MKDIR_P) '$(dir $(GPUSORTD_TARGET))' && \
		$(INSTALL_PROGRAM) $(GPUSORTD) '$(GPUSORTD_TARGET)',@echo "gpusortd was not built (make gpusortd): not installed")
uninstall: uninstall-gpusortd
uninstall-gpusortd:
	rm -f '$(GPUSORTD_TARGET)'
.PHONY: install-gpusortd uninstall-gpusortd

# The host-memory sorts alone, without a server: `cpu_sort --check` is a test, the rest a benchmark.  In
# cpu_sort_tight little scratch memory and recursion send the same checks through the ways that are rare
# otherwise, and through the plain C that other processors run.
SORT_SOURCES = $(wildcard src/sort/parallel_sort*.c) \
	$(addprefix src/,sort/sample_sort.c sort/string_sort.c sort/key_squeeze.c sort/bound.c sort/chunk.c sort/chunk_pool.c sort/record.c sort/splitters.c key/ends.c memory/pages.c)
CPU_SORT_SOURCES = $(wildcard bench/cpu/*.c) $(SORT_SOURCES)
bench/cpu/cpu_sort bench/cpu/cpu_sort_tight: $(CPU_SORT_SOURCES) $(SOURCE_HEADERS) $(wildcard bench/cpu/*.h)
	$(CC) $(if $(findstring tight,$@),$(SORT_TIGHT)) -I$(CURDIR)/bench $(CPPFLAGS) $(CFLAGS) -o $@ $(CPU_SORT_SOURCES) \
		$(LDFLAGS) -L$(pkglibdir) -L$(libdir) -lpgcommon -lpgport -lm -pthread

# The same sorts beside those of libraries that are elsewhere: IPS4O, HIGHWAY and X86_SIMD_SORT name the
# folders of their sources (bench/cpu/rivals/README.md).  What is not named is left out.  RIVALS_ARCH: the
# processor to compile the libraries for; of AVX-512's own headers gcc 12 warns.  RIVALS_LIBS=-static makes a
# program for another machine.
RIVALS_ARCH ?= native
rivals = std_sort $(if $(IPS4O),ips4o) $(if $(HIGHWAY),vqsort) $(if $(X86_SIMD_SORT),x86_simd_sort)
rivals_objects = $(rivals:%=bench/cpu/rivals/%.o)
rivals_includes = $(if $(IPS4O),-isystem $(IPS4O)/include) $(if $(HIGHWAY),-isystem $(HIGHWAY)) $(if $(X86_SIMD_SORT),-isystem $(X86_SIMD_SORT)/src)
$(rivals_objects): bench/cpu/rivals/%.o: bench/cpu/rivals/%.cc $(wildcard bench/cpu/rivals/*.h) FORCE
	$(CXX) -std=c++17 -O3 -DNDEBUG -march=$(RIVALS_ARCH) -mcx16 -fopenmp -DXSS_USE_OPENMP -pthread -Wall -Wextra -Wno-maybe-uninitialized \
		-Ibench $(rivals_includes) -c -o $@ $<
bench/cpu/cpu_rivals: $(rivals_objects) $(SORT_SOURCES) $(SOURCE_HEADERS) $(wildcard bench/cpu/*.[ch] bench/cpu/rivals/*.[ch])
	$(CC) -I$(CURDIR)/bench $(CPPFLAGS) $(CFLAGS) $(if $(IPS4O),-DWITH_IPS4O) $(if $(HIGHWAY),-DWITH_VQSORT) $(if $(X86_SIMD_SORT),-DWITH_X86_SIMD_SORT) \
		-o $@ bench/cpu/server.c $(wildcard bench/cpu/rivals/*.c) $(SORT_SOURCES) $(rivals_objects) \
		$(LDFLAGS) -L$(pkglibdir) -L$(libdir) -lpgcommon -lpgport -fopenmp $(RIVALS_LIBS) $(if $(IPS4O),-ltbb -latomic) -lstdc++ -lm -pthread
else
all install installcheck:
	@echo "No PostgreSQL to build against: $(if $(wildcard $(PGXS)),there is no $(SERVER_HEADER),'$(PG_CONFIG) --pgxs' names no file)." >&2
	@echo "Set PG_CONFIG to the pg_config of a PostgreSQL 15 to 19 with its server headers, or run 'make setup'," >&2
	@echo "which installs the distribution's packages." >&2
	@false
clean:
	rm -rf $(OBJS) gpusort.so $(EXTRA_CLEAN)
endif

# The device library: needs nvcc, but no PostgreSQL.
include cuda/cuda.mk

help:
	@echo "make                 build the extension (PG_CONFIG=... for another PostgreSQL, WERROR=1: warnings are errors)"
	@echo "make install         install it into that PostgreSQL (DESTDIR=... to stage it), with gpusortd if that was built"
	@echo "make installcheck    run the regression and isolation tests on a running server that has it installed"
	@echo "make clean           remove what was built"
	@echo
	@echo "The device library needs nvcc of CUDA 12 or 13, and no PostgreSQL (CUDA_ARCHS=90: for one architecture; cuda/cuda.mk):"
	@echo "make cuda            build cuda/libdevsort.a"
	@echo "make gpucheck        build and run its checks (GPUCHECK='--quick ...'); what needs a card is skipped where there is none"
	@echo "make gpubench        build and run its benchmarks (GPUBENCH='...')"
	@echo "make gpu-nvbench     build bench/gpu/gpu-nvbench (NVBENCH=... names the sources of NVIDIA's nvbench)"
	@echo "make gpusortd        build cuda/daemon/gpusortd, the service that sorts on GPUs for PostgreSQL's backends"
	@echo "make gpusortd-check  build and run its tests (GPUSORTD_CHECK='--cuda ...': on a card, not in host memory)"
	@echo "make gpusortd-tsan   the same over a CUDA runtime in host memory, with ThreadSanitizer; needs neither nvcc nor a card"
	@echo "make gpubuild        only build all of these"
	@echo
	@echo "Packages, which come into dist/ (docs/packages.md, tools/package --help):"
	@echo "make dist            the source archives, for PGXN and others"
	@echo "make deb             Debian packages (PG_VERSIONS='15 17': not for all versions that are installed)"
	@echo "make rpm             RPM packages"
	@echo "make image           the file system of an image of the extension, for PostgreSQL 18 and later in containers"
	@echo
	@echo "These install what is missing (Debian packages, as root or through sudo), work on a throwaway cluster of"
	@echo "their own, and leave existing clusters alone:"
	@echo "make setup           only install what is needed to build and test"
	@echo "make demo            millions of rows, the same ORDER BY without and with gpusort, times and plans (DEMO='--rows 100000 ...')"
	@echo "make test            the tests, ends with 'N passed, N failed' (TEST='--only regress ...'; tools/test --help)"
	@echo "make check-all       all that can be tried, for hours (CHECK_ALL='--only random,mistakes ...'; tools/check-all --help)"
	@echo "make random          the randomized differential test (DURATION=3600, SEED=...)"
	@echo "make format          lay out the sources anew: clang-format, and comments and Markdown wrapped at one width"
	@echo "make lint            compilers' warnings, cppcheck, shellcheck, perlcritic, pyflakes (tools/setup lint installs them)"
	@echo "make coverage        which lines of src/ the tests reach (COVERAGE_OPTIONS='--html FOLDER ...'; tools/coverage --help)"
	@echo "make bench           bench/queries/orderby (BENCH='--rows 20000000 --repeat 5 ...'; bench/queries/orderby --help)"
	@echo "make bench-gpu       the same with a GPU and many cores: bench/queries/gpu_orderby (BENCH='--suites \"headline types\" ...'; --help)"

setup:
	tools/setup build test
demo:
	tools/demo $(DEMO)
test:
	tools/test $(TEST)
check-all:
	tools/check-all $(CHECK_ALL)
format:
	tools/format
lint:
	tools/lint
coverage:
	tools/coverage $(COVERAGE_OPTIONS)
random:
	tools/test --only random --random-seconds $(or $(DURATION),60) $(if $(SEED),--seed $(SEED))
bench:
	bench/queries/orderby $(BENCH)
bench-gpu:
	bench/queries/gpu_orderby $(BENCH)
dist deb rpm image:
	PG_CONFIG='$(if $(filter-out default undefined file,$(origin PG_CONFIG)),$(PG_CONFIG))' tools/package $@ $(if $(PG_VERSIONS),--pg '$(PG_VERSIONS)') $(PACKAGE)

.PHONY: all install installcheck clean help setup demo test check-all format lint coverage random bench bench-gpu \
	dist deb rpm image
