/*
 * kept_layer.h
 *		A layer that one case after the other uses.
 */
#ifndef DAEMON_CHECK_FUZZ_KEPT_LAYER_H
#define DAEMON_CHECK_FUZZ_KEPT_LAYER_H

#include "daemon/device/layer.h"

/*
 * The CUDA layer, which is opened for the first case alone, as it sorts a chunk of each kind then; what it
 * keeps of a job is there for those of the next cases.
 */
std::unique_ptr<DeviceLayer> kept_layer(uint64_t chunk_bytes);

/* Blocks of memory for chunks that are registered with it. */
int kept_layer_blocks();

/* The next case gets another one: a device was lost. */
void kept_layer_drop();

#endif /* DAEMON_CHECK_FUZZ_KEPT_LAYER_H */
