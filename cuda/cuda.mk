# The device library, its checks and its benchmarks, and gpusortd.  Included by the Makefile; paths are from
# the repository's root.
#
#	CUDA_ARCHS=90       architectures of the library to make machine code for; PTX of the last is there for newer cards
#	PROGRAM_ARCHS=90    those of gpucheck and gpubench, if fewer will do
#	NVCC=, NVCCFLAGS=   another compiler, more flags (NVCCFLAGS=-lineinfo for a profile)
#	WERROR=1            warnings are errors
#	ONE_LIBRARY=1       for tests: the library with faults to inject is the only one, and compiled once
#	                    (gpusortd and its checks are hardly optimised then, without debug information)
#	PTX_ONLY=1          for tests without a card: no machine code, and none of the card's code is optimised, little of the host's
#
# Nothing here runs or fails unless one of these targets is asked for: the extension needs no CUDA.

ifndef NVCC
NVCC := $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
endif
CUDA_ARCHS ?= 75 80 86 89 90
PROGRAM_ARCHS ?= $(CUDA_ARCHS)
NVCC_THREADS ?= 2

cuda_flags = -std=c++17 -O$(if $(PTX_ONLY),0,3) -cudart static --threads $(NVCC_THREADS) -Xcompiler -fPIC,-pthread,-Wall,-Wextra \
	$(if $(WERROR),-Werror all-warnings -Xcompiler -Werror) -Icuda $(NVCCFLAGS)
cuda_machine_code = $(if $(PTX_ONLY),-Xcicc -O0,$(foreach arch,$(1),-gencode arch=compute_$(arch),code=sm_$(arch))) \
	-gencode arch=compute_$(lastword $(1)),code=compute_$(lastword $(1))
cuda_nvcc = $(or $(NVCC),$(error No nvcc in the PATH or in /usr/local/cuda/bin: install CUDA 12 or 13, or set NVCC))

# What is compiled with which flags goes to a folder of its own:
#	cuda/build            the library, and gpusortd with its tests in cuda/build/daemon
#	cuda/build-program    gpubench, and the parts of gpucheck that it shares
#	cuda/build-faults     gpucheck, and the library with faults to inject
#	cuda/build-fake       gpusortd's CUDA layer over a CUDA runtime in host memory, and layercheck
#	cuda/build-tsan       the same with ThreadSanitizer
cuda/build/%: cuda_compile = $(cuda_flags) $(if $(ONE_LIBRARY),-DDEVSORT_FAULTS) $(call cuda_machine_code,$(CUDA_ARCHS))
cuda/build-program/%: cuda_compile = $(cuda_flags) -Ibench $(call cuda_machine_code,$(PROGRAM_ARCHS))
cuda/build-faults/%: cuda_compile = $(cuda_flags) -DDEVSORT_FAULTS $(call cuda_machine_code,$(PROGRAM_ARCHS))

library_rooms = base device primitives pairs segments fixed strings rows
library_sources = $(sort $(wildcard $(library_rooms:%=cuda/%/*.cu)))
library_objects = $(library_sources:cuda/%.cu=cuda/build/%.o)
check_folder = cuda/build$(if $(ONE_LIBRARY),,-faults)
check_objects = $(patsubst cuda/%.cu,$(check_folder)/%.o,$(library_sources) $(sort $(wildcard cuda/check/*.cu cuda/check/*/*.cu)))
bench_objects = $(patsubst %.cu,cuda/build-program/%.o,$(filter-out bench/gpu/nvbench/%,$(sort $(wildcard bench/gpu/*.cu bench/gpu/*/*.cu))) \
	$(if $(ONE_LIBRARY),,$(bench_shared))) $(if $(ONE_LIBRARY),$(bench_shared:cuda/%.cu=cuda/build/%.o))
bench_shared = cuda/check/data/distributions.cu

cuda: cuda/libdevsort.a

cuda/libdevsort.a: $(library_objects)
	rm -f $@
	$(AR) qcs $@ $(library_objects)

cuda/check/gpucheck: $(check_objects)
	$(cuda_nvcc) -cudart static -Xcompiler -pthread -o $@ $(check_objects)

bench/gpu/gpubench: $(bench_objects) cuda/libdevsort.a
	$(cuda_nvcc) -cudart static -Xcompiler -pthread -o $@ $(bench_objects) cuda/libdevsort.a

# The same sorts under nvbench, whose sources NVBENCH names (bench/gpu/nvbench/README.md).
nvbench_folder = cuda/build-program/nvbench
nvbench_left_out = %/json_printer.cxx %/cupti_profiler_host.cxx %/cupti_profiler_nvpw.cxx %/measure_cupti.cu
nvbench_sources = $(filter-out $(nvbench_left_out),$(wildcard $(addprefix $(NVBENCH)/nvbench/,*.cxx *.cu detail/*.cxx detail/*.cu internal/*.cxx)))
nvbench_own = $(patsubst $(NVBENCH)/nvbench/%,$(nvbench_folder)/%.o,$(nvbench_sources))
nvbench_objects = $(patsubst %.cu,cuda/build-program/%.o,$(sort $(wildcard bench/gpu/nvbench/*.cu bench/gpu/contenders/*.cu bench/gpu/data/*.cu bench/gpu/verify/*.cu)) \
	$(bench_shared))
nvbench_flags = -I$(NVBENCH) -I$(nvbench_folder) $(addprefix -I,$(NVBENCH_INCLUDES)) -DFMT_HEADER_ONLY
cuda/build-program/bench/gpu/nvbench/%.o: cuda_compile += $(nvbench_flags) --extended-lambda
$(filter cuda/build-program/bench/gpu/nvbench/%,$(nvbench_objects)) $(nvbench_own): $(nvbench_folder)/nvbench/config.cuh

$(nvbench_folder)/nvbench/config.cuh: bench/gpu/nvbench/headers
	@test -n '$(NVBENCH)' || { echo 'NVBENCH must name the folder of nvbench: see bench/gpu/nvbench/README.md' >&2; false; }
	bench/gpu/nvbench/headers '$(NVBENCH)' $(nvbench_folder)

$(nvbench_own): $(nvbench_folder)/%.o: $(NVBENCH)/nvbench/%
	@mkdir -p $(@D)
	$(cuda_nvcc) -std=c++17 -O1 -w -cudart static -Xcompiler -fPIC,-pthread $(if $(filter %.cu,$<),$(call cuda_machine_code,$(PROGRAM_ARCHS)),-x c++) \
		$(nvbench_flags) -DNVBENCH_NO_IMPLICIT_SYSTEM_HEADER -c -o $@ $<

bench/gpu/gpu-nvbench: $(nvbench_objects) $(nvbench_own) cuda/libdevsort.a
	$(cuda_nvcc) -cudart static -Xcompiler -pthread,-static-libstdc++,-static-libgcc -o $@ $(nvbench_objects) $(nvbench_own) cuda/libdevsort.a

# gpusortd: CUDA only below its device layer.  Its tests run the program, and share its client library.
daemon_flags = $(if $(ONE_LIBRARY),-O1,-O2 -g) -fPIC -pthread -Wall -Wextra $(if $(WERROR),-Werror) -Icuda -MMD -MP -MF $(@:.o=.d)
client_sources = $(sort $(wildcard cuda/daemon/client/*.c))
daemon_sources = $(client_sources) $(sort $(wildcard cuda/daemon/*.cc $(addprefix cuda/daemon/,server/*.cc device/*.cc device/cuda/*.cu)))
daemon_objects = $(patsubst cuda/%,cuda/build/%.o,$(basename $(daemon_sources)))
daemon_check_sources = $(sort $(wildcard cuda/daemon/check/*.cc $(addprefix cuda/daemon/check/,bench/*.cc harness/*.cc sections/*.cc)))
daemon_check_objects = $(patsubst cuda/%,cuda/build/%.o,$(basename $(client_sources) $(daemon_check_sources)))

cuda/daemon/gpusortd: $(daemon_objects) cuda/libdevsort.a
	$(cuda_nvcc) -cudart static -Xcompiler -pthread -o $@ $(daemon_objects) cuda/libdevsort.a

# It runs gpusortd, or the one over a CUDA runtime in host memory; that one alone needs no nvcc
# (CHECKED_GPUSORTD=cuda/daemon/fake/gpusortd).
CHECKED_GPUSORTD ?= cuda/daemon/gpusortd cuda/daemon/fake/gpusortd
cuda/daemon/check/daemoncheck: $(daemon_check_objects) $(CHECKED_GPUSORTD)
	$(CXX) -pthread -o $@ $(daemon_check_objects)

# The CUDA layer as C++, over a CUDA runtime in host memory: no nvcc, no card; it can be made to fail at any
# call.
fake_sources = $(sort $(wildcard cuda/daemon/device/cuda/*.cu cuda/device/*.cu cuda/daemon/fake/*.cc)) cuda/base/status.cu
fake_objects = $(fake_sources:cuda/%=cuda/build-fake/%.o)
layercheck_sources = $(sort $(wildcard cuda/daemon/check/layer/*.cc)) cuda/daemon/check/harness/report.cc
layercheck_objects = $(layercheck_sources:cuda/%=cuda/build-fake/%.o)

cuda/daemon/check/layer/layercheck: $(layercheck_objects) $(fake_objects)
	$(CXX) -pthread -o $@ $^

# The whole of gpusortd with it, for daemoncheck --fake-cuda.
cuda/daemon/fake/gpusortd: $(filter-out cuda/build/daemon/device/cuda/%,$(daemon_objects)) $(fake_objects)
	$(CXX) -pthread -o $@ $^

# Cases of messages, in one process: fuzzcheck has those of a corpus, protocolfuzz, which is built by clang as
# tools/fuzz builds it, looks for more.
fuzz_sources = $(addprefix cuda/daemon/check/fuzz/,case.cc kept_layer.cc lockstep.cc peer.cc)
fuzz_objects = $(fuzz_sources:cuda/%=cuda/build-fake/%.o) $(fake_objects) \
	$(filter-out cuda/build/daemon/main.o cuda/build/daemon/self_test.o cuda/build/daemon/device/cuda/% cuda/build/daemon/client/%,$(daemon_objects))
fuzz_wrapped = poll recv getrandom pthread_cond_clockwait _ZNSt6chrono3_V212steady_clock3nowEv

cuda/daemon/check/fuzz/fuzzcheck: $(fuzz_objects) cuda/build/daemon/check/fuzz/replay.o cuda/build/daemon/check/harness/report.o
	$(CXX) -pthread $(fuzz_wrapped:%=-Wl,--wrap=%) -o $@ $^

cuda/daemon/check/fuzz/protocolfuzz: $(fuzz_objects) cuda/build/daemon/check/fuzz/target.o
	$(CXX) -fsanitize=fuzzer -pthread $(fuzz_wrapped:%=-Wl,--wrap=%) -o $@ $^

cuda/build-fake/%.o: cuda/% cuda/cuda.mk
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(daemon_flags) -Icuda/daemon/fake/include -x c++ -c -o $@ $<

# The same two with gcc's or clang's ThreadSanitizer; what it reports is a check of daemoncheck's that fails,
# and the exit status of layercheck.
tsan_objects = $(patsubst cuda/%,cuda/build-tsan/%.o,$(filter-out cuda/daemon/device/cuda/%,$(daemon_sources)) $(fake_sources))
tsan_layercheck_objects = $(patsubst cuda/%,cuda/build-tsan/%.o,$(layercheck_sources) $(fake_sources))

cuda/build-tsan/gpusortd: $(tsan_objects)
cuda/build-tsan/layercheck: $(tsan_layercheck_objects)
cuda/build-tsan/gpusortd cuda/build-tsan/layercheck:
	$(CXX) -fsanitize=thread -pthread -o $@ $^

cuda/build-tsan/%.c.o: cuda/%.c cuda/cuda.mk
	@mkdir -p $(@D)
	$(CC) -std=c11 $(daemon_flags) -fsanitize=thread -c -o $@ $<
cuda/build-tsan/%.o: cuda/% cuda/cuda.mk
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(daemon_flags) -fsanitize=thread -Icuda/daemon/fake/include -x c++ -c -o $@ $<

cuda/build/daemon/%.o: cuda/daemon/%.c cuda/cuda.mk
	@mkdir -p $(@D)
	$(CC) -std=c11 $(daemon_flags) -c -o $@ $<
cuda/build/daemon/%.o: cuda/daemon/%.cc cuda/cuda.mk
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(daemon_flags) -c -o $@ $<

# Objects are compiled again when the flags change.
cuda/build/flags cuda/build-program/flags cuda/build-faults/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(NVCC) $(cuda_compile)' | cmp -s - $@ || echo '$(NVCC) $(cuda_compile)' >$@

cuda/build/%.o: cuda/%.cu cuda/build/flags
	@mkdir -p $(@D)
	$(cuda_nvcc) $(cuda_compile) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
cuda/build-program/%.o: %.cu cuda/build-program/flags
	@mkdir -p $(@D)
	$(cuda_nvcc) $(cuda_compile) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
cuda/build-faults/%.o: cuda/%.cu cuda/build-faults/flags
	@mkdir -p $(@D)
	$(cuda_nvcc) $(cuda_compile) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

-include $(patsubst %.o,%.d,$(library_objects) $(check_objects) $(bench_objects) \
	$(daemon_objects) $(daemon_check_objects) \
	$(fake_objects) $(layercheck_objects) $(fuzz_objects) $(tsan_objects) $(tsan_layercheck_objects))

gpubuild: cuda/libdevsort.a cuda/check/gpucheck bench/gpu/gpubench cuda/daemon/check/daemoncheck
gpucheck: cuda/check/gpucheck
	cuda/check/gpucheck $(GPUCHECK)
gpu-nvbench: bench/gpu/gpu-nvbench
gpubench: bench/gpu/gpubench
	bench/gpu/gpubench $(GPUBENCH)
gpusortd: cuda/daemon/gpusortd
gpusortd-check: cuda/daemon/check/daemoncheck
	cuda/daemon/check/daemoncheck $(GPUSORTD_CHECK)
gpusortd-layercheck: cuda/daemon/check/layer/layercheck
	cuda/daemon/check/layer/layercheck
# A gpusortd whose device does not answer ends at once, beside threads that nobody can join.
gpusortd-tsan: export TSAN_OPTIONS = report_thread_leaks=0
gpusortd-tsan: cuda/build-tsan/gpusortd cuda/build-tsan/layercheck
	$(MAKE) CHECKED_GPUSORTD= cuda/daemon/check/daemoncheck
	cuda/build-tsan/layercheck
	cuda/daemon/check/daemoncheck --fake-cuda --program cuda/build-tsan/gpusortd $(GPUSORTD_CHECK)
	cuda/daemon/check/daemoncheck --program cuda/build-tsan/gpusortd $(GPUSORTD_CHECK)

# Removed by `make clean`.
CUDA_CLEAN = cuda/build cuda/build-program cuda/build-faults cuda/build-fake cuda/build-tsan cuda/libdevsort.a cuda/check/gpucheck \
	bench/gpu/gpubench bench/gpu/gpu-nvbench cuda/daemon/gpusortd cuda/daemon/check/daemoncheck cuda/daemon/check/layer/layercheck \
	cuda/daemon/fake/gpusortd cuda/daemon/check/fuzz/fuzzcheck cuda/daemon/check/fuzz/protocolfuzz

.PHONY: cuda gpubuild gpucheck gpubench gpu-nvbench gpusortd gpusortd-check gpusortd-layercheck gpusortd-tsan FORCE
