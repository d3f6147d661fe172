// A C++ program, written as one: an environment with methods, containers that own the memory, a
// lambda as the callback.
#define RESNHARPG_IMPLEMENTATION
#include <resnharpg.h>
#include <cstdio>
#include <vector>

namespace {
class Corridor { // walk right to the end of five cells; each step costs a point
  public:
    rn_env env() {
        rn_env e = rn_env();
        e.self = this;
        e.reset = [](void *self, const agg_rng *, rn_real *obs) {
            static_cast<Corridor *>(self)->at_ = 0;
            obs[0] = 0;
        };
        e.step = [](void *self, const rn_real *act, const agg_rng *, rn_real *obs, double *reward) {
            return static_cast<Corridor *>(self)->step(act[0] > 0, obs, reward);
        };
        e.obs_dim = e.act_dim = 1;
        e.actions = 2;
        return e;
    }

  private:
    rn_step_result step(bool right, rn_real *obs, double *reward) {
        at_ += right ? 1 : at_ > 0 ? -1 : 0;
        obs[0] = static_cast<rn_real>(at_);
        *reward = -1;
        return at_ == 4 ? RN_TERMINATED : RN_RUNNING;
    }

    int at_ = 0;
};
} // namespace

int main() {
    std::vector<Corridor> corridors(6);
    std::vector<rn_env> envs;
    for (Corridor &corridor : corridors) envs.push_back(corridor.env());
    rn_table table;
    rn_trainer_desc desc =
        rn_make_trainer_desc(5, 1, envs.data(), rn_make_table_policy(&table, 5, 2));
    std::size_t rounds = 0;
    desc.method.horizon = 50;
    desc.adversaries = 1;
    desc.progress = [](void *self, const rn_progress *) { ++*static_cast<std::size_t *>(self); };
    desc.progress_self = &rounds;
    std::vector<unsigned char> memory(rn_trainer_size(&desc));
    rn_trainer *trainer = nullptr;
    rn_status s = rn_trainer_init(&trainer, &desc, memory.data(), memory.size());
    for (int round = 0; s == RN_OK && round < 100; round++) s = rn_trainer_run_round(trainer);
    double score = 0;
    if (s == RN_OK) s = rn_trainer_evaluate(trainer, &envs[5], 1, &score);
    std::printf("%s, score %g after %lu rounds\n", rn_status_text(s), score,
                static_cast<unsigned long>(rounds));
    return s == RN_OK && rounds == 100 && score >= -4.5 ? 0 : 1;
}
