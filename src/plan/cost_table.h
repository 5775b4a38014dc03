/* placeholder */
#ifndef GPUSORT_PLAN_COST_TABLE_H
#define GPUSORT_PLAN_COST_TABLE_H
#include "plan/predict.h"
static const double cost_table[COST_TERMS] = {
	[COST_PG_PUT] = 60
};
#endif
