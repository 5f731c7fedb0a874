// From when MPI_Wtime counts: from about the beginning of the job, before MPI_Init as afterwards.
#pragma once

namespace hf::engine {

// The real-time clock when MPI_Wtime or MPI_Init first asked, which stands for the beginning where there is no agent.
double first_asked();

// What MPI_Wtime gives before MPI_Init, in any thread. The recorder records the clocks that are read here as it does the program's.
double time_before_join();

}  // namespace hf::engine
