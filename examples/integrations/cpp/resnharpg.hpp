// resnharpg.hpp - a trainer as a C++11 object: it owns its memory, cannot be copied, and what goes
// wrong is an exception with words. An environment is a class with reset(rng, obs), step(act, obs,
// reward) and OBS, ACTIONS, which do not throw: C calls them, and with desc.jobs on other threads. A
// step that fails returns static_cast<rn_step_result>(-1), and its agent misses the round.
// The rest of the API is C and needs no wrapping.
#ifndef RESNHARPG_HPP
#define RESNHARPG_HPP
#include "resnharpg.h"
#include <memory>
#include <stdexcept>
#include <vector>

namespace rn {
inline void check(rn_status s) {
    if (s != RN_OK) throw std::runtime_error(rn_status_text(s));
}

template <class Task> rn_env make_env(Task &task) {
    rn_env e = rn_env();
    e.self = &task;
    e.obs_dim = Task::OBS;
    e.act_dim = 1;
    e.actions = Task::ACTIONS;
    e.reset = [](void *self, const agg_rng *rng, rn_real *obs) {
        static_cast<Task *>(self)->reset(*rng, obs);
    };
    e.step = [](void *self, const rn_real *act, const agg_rng *, rn_real *obs, double *reward) {
        return static_cast<Task *>(self)->step(static_cast<int>(act[0]), obs, *reward);
    };
    return e;
}

class trainer {
  public:
    explicit trainer(const rn_trainer_desc &d) : memory_(rn_trainer_size(&d)) {
        char why[1024];
        if (rn_trainer_init(&trainer_, &d, memory_.data(), memory_.size()) == RN_OK) return;
        rn_trainer_explain(&d, why, sizeof why);
        throw std::invalid_argument(why);
    }

    trainer(const trainer &) = delete; // the C object points into its memory
    trainer &operator=(const trainer &) = delete;

    void run(int rounds) {
        for (; rounds > 0; rounds--) check(rn_trainer_run_round(trainer_));
    }

    template <class Task> double evaluate(Task &task, std::size_t trajectories = 100) {
        const rn_env env = make_env(task);
        double score = 0;
        check(rn_trainer_evaluate(trainer_, &env, trajectories, &score));
        return score;
    }

    rn_trainer *get() { return trainer_; } // for everything else

  private:
    std::vector<unsigned char> memory_;
    rn_trainer *trainer_ = nullptr;
};
} // namespace rn
#endif // RESNHARPG_HPP
