# A server with gpusort: the official image of PostgreSQL (hub.docker.com/_/postgres), or another one of
# Debian, with the extension in it.
#
#	docker build -t gpusort .
#	docker run -d -e POSTGRES_PASSWORD=secret gpusort
#
# New clusters have gpusort in shared_preload_libraries; docs/packages.md says more.
#
#	--build-arg BASE=postgres:17-bookworm                          another server: PostgreSQL 15 to 19
#	--build-arg CUDA=nvidia/cuda:13.0.1-devel-ubuntu22.04          with gpusortd, which sorts on GPUs
#	--build-arg CUDA_ARCHS=90                                      gpusortd for these cards alone, which is quicker
#
# CUDA is an image of Debian or Ubuntu with nvcc, and with no newer a C library than BASE has.
ARG BASE=docker.io/library/postgres:18
ARG CUDA=$BASE

# gpusortd, if there is an image to build it with.
FROM $CUDA AS gpusortd
ARG BASE
ARG CUDA=$BASE
ARG CUDA_ARCHS
USER 0
COPY . /gpusort
RUN mkdir /built && \
	if [ "$CUDA" != "$BASE" ]; then \
		apt-get update && apt-get install -y --no-install-recommends g++ make && \
		make -C /gpusort -j"$(nproc)" ${CUDA_ARCHS:+CUDA_ARCHS="$CUDA_ARCHS"} gpusortd && \
		cp /gpusort/cuda/daemon/gpusortd /built/; \
	fi

# The extension.
FROM $BASE AS build
USER 0
RUN apt-get update && apt-get install -y --no-install-recommends \
	gcc libc6-dev libicu-dev make "postgresql-server-dev-$PG_MAJOR"
COPY . /gpusort
COPY --from=gpusortd /built/ /gpusort/cuda/daemon/
RUN set -- -C /gpusort "PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config" && \
	make -j"$(nproc)" "$@" && \
	make "$@" DESTDIR=/installed install && \
	install -D -m 644 /gpusort/debian/copyright /installed/usr/share/doc/gpusort/copyright

# What runs.  What is in the sample becomes the postgresql.conf of new clusters.
FROM $BASE
COPY --from=build /installed/ /
RUN echo "shared_preload_libraries = 'gpusort'" >>"/usr/share/postgresql/$PG_MAJOR/postgresql.conf.sample" && \
	mkdir -p /docker-entrypoint-initdb.d && \
	echo 'CREATE EXTENSION gpusort;' >/docker-entrypoint-initdb.d/gpusort.sql
# What the NVIDIA container toolkit brings in of the host's driver, where it is asked for a card.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
