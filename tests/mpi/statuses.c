/* Reading and writing statuses; MPI_Get_count and its undefined results. */
#include "check.h"

/* MPI_Status_set_elements counts basic elements, as MPI_Get_elements does. */
static void set_elements(void) {
  MPI_Datatype three, mixed, vector;
  MPI_Aint displacements[3] = {0, 8, 24};
  int lengths[3] = {1, 2, 3}, count;
  OK(MPI_Type_contiguous(3, MPI_INT, &three));
  MPI_Datatype types[3] = {MPI_DOUBLE, MPI_SHORT, three};
  OK(MPI_Type_create_struct(3, lengths, displacements, types, &mixed));
  OK(MPI_Type_vector(2, 2, 3, mixed, &vector));
  MPI_Datatype all[3] = {three, mixed, vector};
  const int elements[3] = {3, 12, 48};
  for (int t = 0; t < 3; ++t) {
    for (int n = 0; n < 3 * elements[t]; ++n) {
      MPI_Status status;
      memset(&status, 0, sizeof status);
      OK(MPI_Status_set_elements(&status, all[t], n));
      OK(MPI_Get_elements(&status, all[t], &count));
      CHECK_INT(n, count);
      OK(MPI_Get_count(&status, all[t], &count));
      CHECK_INT(n % elements[t] ? MPI_UNDEFINED : n / elements[t], count);
    }
  }
  for (int t = 0; t < 3; ++t) OK(MPI_Type_free(&all[t]));
}

/* There and back (MPI 5.0, 19.3.5): nothing is lost, and the members stand where Fortran looks for them. */
static void in_fortran(const MPI_Status* status) {
  MPI_Fint in_array[MPI_F_STATUS_SIZE + 1], again[MPI_F_STATUS_SIZE];
  MPI_F08_status in_type, type_again;
  MPI_Status back;
  int count;
  in_array[MPI_F_STATUS_SIZE] = -1;
  OK(MPI_Status_c2f(status, in_array));
  CHECK_INT(status->MPI_SOURCE, in_array[MPI_F_SOURCE]);
  CHECK_INT(status->MPI_TAG, in_array[MPI_F_TAG]);
  CHECK_INT(status->MPI_ERROR, in_array[MPI_F_ERROR]);
  CHECK_INT(-1, in_array[MPI_F_STATUS_SIZE]);
  OK(MPI_Status_f2f08(in_array, &in_type));
  OK(MPI_Status_c2f08(status, &type_again));
  CHECK(memcmp(&in_type, &type_again, sizeof in_type) == 0);
  OK(MPI_Status_f082f(&in_type, again));
  CHECK(memcmp(in_array, again, sizeof again) == 0);
  memset(&back, 0, sizeof back);
  OK(MPI_Status_f2c(again, &back));
  CHECK(memcmp(status, &back, sizeof back) == 0);
  memset(&back, 0, sizeof back);
  OK(MPI_Status_f082c(&in_type, &back));
  OK(MPI_Get_count(&back, MPI_INT, &count));
  CHECK_INT(3, count);
  CHECK_INT(MPI_ERR_ARG, MPI_Status_c2f(MPI_STATUS_IGNORE, in_array));
  CHECK_INT(MPI_ERR_ARG, MPI_Status_f2c(MPI_F_STATUS_IGNORE, &back));
  CHECK_INT(MPI_ERR_ARG, MPI_Status_f082c(MPI_F08_STATUS_IGNORE, &back));
}

int main(int argc, char** argv) {
  MPI_Status status;
  MPI_Datatype pair, empty;
  int flag, count, out[3] = {1, 2, 3}, in[3];
  MPI_Count large;
  begin(&argc, &argv);
  memset(&status, 0, sizeof status);
  OK(MPI_Status_set_source(&status, 11));
  OK(MPI_Status_set_tag(&status, 22));
  OK(MPI_Status_set_error(&status, MPI_ERR_ARG));
  OK(MPI_Status_get_source(&status, &count));
  CHECK_INT(11, count);
  CHECK_INT(11, status.MPI_SOURCE);
  OK(MPI_Status_get_tag(&status, &count));
  CHECK_INT(22, count);
  OK(MPI_Status_get_error(&status, &count));
  CHECK_INT(MPI_ERR_ARG, count);
  OK(MPI_Status_set_cancelled(&status, 1));
  OK(MPI_Status_set_elements(&status, MPI_DOUBLE, 7));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK_INT(1, flag);
  CHECK_INT(11, status.MPI_SOURCE);
  CHECK_INT(MPI_ERR_ARG, status.MPI_ERROR);
  OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
  CHECK_INT(7, count);
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_INT(56, count);
  OK(MPI_Status_set_elements_c(&status, MPI_BYTE, (MPI_Count)3 << 40));
  OK(MPI_Get_count_c(&status, MPI_BYTE, &large));
  CHECK_INT((MPI_Count)3 << 40, large);
  OK(MPI_Get_count(&status, MPI_BYTE, &count)); /* does not fit an int */
  CHECK_INT(MPI_UNDEFINED, count);

  set_elements();
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  OK(MPI_Sendrecv(out, 3, MPI_INT, next_rank(), 1, in, 3, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_INT(3, count);
  OK(MPI_Get_count(&status, pair, &count));
  CHECK_INT(MPI_UNDEFINED, count);
  in_fortran(&status);
  OK(MPI_Sendrecv(out, 5, empty, next_rank(), 1, in, 0, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, empty, &count));
  CHECK_INT(0, count);
  OK(MPI_Type_free(&pair));
  OK(MPI_Type_free(&empty));
  return end();
}
