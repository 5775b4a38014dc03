/*
 * plan/spread.h
 *		How many GPUs a sort is spread over.
 */
#ifndef GPUSORT_PLAN_SPREAD_H
#define GPUSORT_PLAN_SPREAD_H

#include "postgres.h"

#include "plan/predict.h"

/* Sets shape->cards: to 1 unless it is a shape on GPUs of which several are there and expected to pay. */
extern void spread_over_cards(SortShape *shape);

/*
 * Why a sort that the cuda device does is on one of several GPUs; NULL: it is spread over them, or there are
 * none.  cards: as the plan says; wanted: rows, -1: all; largest: of its first column (ColumnStats).
 */
extern const char *spread_why_not(int cards, double wanted, double largest);

#endif /* GPUSORT_PLAN_SPREAD_H */
