/* Every public enum is as large as an int, whatever the compiler's flags: two files may differ. */
#include "resnharpg.h"

#define AN_INT(type) typedef char type##_is_an_int[sizeof(type) == sizeof(int) ? 1 : -1]
AN_INT(agg_rule);
AN_INT(agg_status);
AN_INT(agg_pre);
AN_INT(agg_attack_kind);
AN_INT(rn_status);
AN_INT(rn_step_result);
AN_INT(rn_activation);
AN_INT(rn_estimator);
AN_INT(rn_baseline);
AN_INT(rn_attack_kind);
AN_INT(rn_schedule_kind);
AN_INT(rn_update_kind);
