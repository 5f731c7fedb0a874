"""Tests of the generator's pure functions; no compiler is needed."""

import unittest

import declarations
import entries
import generate
import header
from table import TableError, parse_callbacks, parse_constants, parse_functions, parse_parameter, wrap_list


def one(text, chapter="point_to_point"):
    functions = parse_functions(text, chapter)
    assert len(functions) == 1
    return functions[0]


SEND = one("Send large\n  buf:buffer count:count datatype:committed dest:rank\n  tag:tag comm:comm")


class Parsing(unittest.TestCase):
    def test_a_parameter_has_kind_direction_length_and_marks(self):
        p = parse_parameter("array_of_requests:request&[count]")
        self.assertEqual((p.name, p.kind, p.direction, p.length), ("array_of_requests", "request", "&", "count"))
        self.assertTrue(parse_parameter("info:info?").null)
        self.assertTrue(parse_parameter("n:count>+").large_only)
        self.assertEqual(parse_parameter("recvtype:committed@root").where, "root")

    def test_entries_span_lines_and_comments_are_skipped(self):
        self.assertEqual([p.name for p in SEND.parameters], ["buf", "count", "datatype", "dest", "tag", "comm"])
        self.assertEqual(len(parse_functions("# nothing\n\nInit anytime\n  argc:argc& argv:argv&\nFinalize\n")), 2)

    def test_mistakes_are_named(self):
        for text in ("Send\n  count:cuont", "Send sometimes\n", "  count:count\n", "Waitall\n  r:request&[n]",
                     "Waitall\n  r:request&[]", "Send\n  count"):
            with self.assertRaises(TableError, msg=text):
                parse_functions(text)
        with self.assertRaises(TableError):
            parse_constants("enumm | Title\n  A 1\n")

    def test_flags(self):
        f = one("Attr_get as comm_get_attr, deprecated 2.0\n  comm:comm")
        self.assertEqual((f.cpp_name, f.deprecated), ("comm_get_attr", "2.0"))
        self.assertFalse(one("Put none\n").implemented)


class Header(unittest.TestCase):
    def test_both_forms_have_a_prototype(self):
        text = header.prototypes([SEND], "P")
        self.assertIn("int PMPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);",
                      text)
        self.assertIn("int PMPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,", text)

    def test_parameters_of_the_large_form_only(self):
        f = one("Type_get_envelope large\n  datatype:datatype num_integers:count> num_large_counts:count>+")
        self.assertEqual(f.c_parameters(), "MPI_Datatype datatype, int *num_integers")
        self.assertEqual(f.c_parameters(True),
                         "MPI_Datatype datatype, MPI_Count *num_integers, MPI_Count *num_large_counts")

    def test_arrays_ranges_and_no_parameters(self):
        f = one("F\n  ranges:range[n] n:size a:int[] b:int>[] r:request[n] s:status>[n]")
        self.assertEqual(f.c_parameters(), "int ranges[][3], int n, const int a[], int b[], const MPI_Request r[], "
                                           "MPI_Status s[]")
        self.assertEqual(one("Finalize\n").c_parameters(), "void")

    def test_constants(self):
        text = header.constants(parse_constants("enum | Classes\n  | Good\n  SUCCESS 0\n  OLD 1 deprecated 2.0\n")[0])
        self.assertEqual(text, "/* Classes */\nenum {\n  /* Good */\n  MPI_SUCCESS = 0,\n"
                               "  MPI_OLD = 1 /* deprecated: MPI 2.0 */\n};\n")
        text = header.constants(parse_constants("handle Op\n  SUM 0x21\n  PLUS SUM\n")[0])
        self.assertIn("#define MPI_SUM ((MPI_Op)0x21)\n#define MPI_PLUS MPI_SUM\n", text)

    def test_callbacks_with_a_large_form_are_two_types(self):
        text = header.callback_types(parse_callbacks("User_function void, large\n  len:count>\n"))
        self.assertIn("typedef void (MPI_User_function)(int *len);", text)
        self.assertIn("typedef void (MPI_User_function_c)(MPI_Count *len);", text)


class Declarations(unittest.TestCase):
    def test_one_function_for_both_forms(self):
        self.assertEqual(declarations.declaration(SEND), "int send(Process& p, const void* buf, Count count, "
                                                         "Datatype& datatype, int dest, int tag, Comm& comm)")

    def test_handles_by_direction(self):
        f = one("F\n  a:comm b:info? c:group> d:request& n:size e:request&[n] g:datatype[n] h:datatype*")
        self.assertEqual(declarations.declaration(f),
                         "int f(Process& p, Comm& a, Info* b, Group*& c, Request*& d, int n, std::span<Request*> e, "
                         "std::span<Datatype* const> g, Datatype& h)")

    def test_a_parameter_named_as_the_process_is_renamed(self):
        self.assertIn("int precision", declarations.declaration(one("F\n  p:int")))

    def test_aliases_and_what_is_not_implemented_have_none(self):
        functions = parse_functions("A\nB none\nC as a\nD front\n")
        self.assertEqual([f.name for f in declarations.implementations(functions)], ["A"])


class Entries(unittest.TestCase):
    def test_the_communicator_is_checked_first(self):
        text = entries.entry(SEND)
        self.assertLess(text.index('call.comm(comm, "comm")'), text.index("call.not_negative(count"))
        self.assertIn('form<N>("MPI_Send", "MPI_Send_c")', text)

    def test_a_freed_handle_is_given_back_whatever_the_code_and_a_new_one_only_on_success(self):
        text = entries.entry(one("F\n  comm:comm& request:request>"))
        self.assertIn("  call.give_back(comm, comm_, false);\n", text)
        self.assertIn("  if (code == mpi::success) call.give(request, request_);\n", text)

    def test_what_is_significant_at_the_root_only(self):
        text = entries.entry(one("Gather large\n  sendbuf:buffer recvbuf:buffer> recvcount:count@root "
                                 "recvtype:committed@root root:root comm:comm"))
        self.assertIn("const bool at_root = comm_ && comm_->is_root(root);", text)
        self.assertIn("if (at_root) call.not_negative(recvcount", text)
        self.assertIn('call.committed(recvtype, "recvtype", at_root)', text)

    def test_what_is_not_significant_between_groups(self):
        gather = entries.entry(one("Gather large\n  sendbuf:buffer sendcount:count@sendbuf recvbuf:buffer> "
                                   "recvcount:count@root root:root comm:comm"))
        self.assertIn("const bool at_leaf = comm_ && comm_->is_leaf(root);", gather)
        self.assertIn("if (at_leaf && !Abi::in_place(sendbuf)) call.not_negative(sendcount", gather)
        bcast = entries.entry(one("Bcast large\n  buffer:pointer count:count datatype:committed root:root comm:comm"))
        self.assertIn('call.committed(datatype, "datatype", !looks_on)', bcast)

    def test_errors_of_a_maker_go_to_the_handler_that_it_is_given(self):
        text = entries.entry(one("Make anytime\n  group:group errhandler:errhandler newcomm:comm>"))
        self.assertLess(text.index("call.tell(errhandler);"), text.index("mpi::Group* group_"))

    def test_what_is_significant_at_the_leader_only(self):
        text = entries.entry(one("Join\n  local_comm:comm local_leader:rank peer_comm:comm?@leader"))
        self.assertIn("const bool at_leader = local_comm_ && local_comm_->rank() == local_leader;", text)
        self.assertIn("peer_comm_ = !at_leader ? nullptr : call.template optional<mpi::Comm>(peer_comm", text)

    def test_a_type_whose_count_is_zero_is_not_significant(self):
        text = entries.entry(one("Alltoallw large\n  sendbuf:buffer sendcounts:count[] sendtypes:committed[comm]@sendbuf "
                                 "recvcounts:count[] recvtypes:committed[comm] comm:comm"))
        self.assertIn("!Abi::in_place(sendbuf), mpi::CountArray(sendcounts));", " ".join(text.split()))
        self.assertIn("true, true, mpi::CountArray(recvcounts));", " ".join(text.split()))

    def test_numbers_of_the_small_form_are_narrowed(self):
        text = entries.entry(one("Type_size large\n  datatype:datatype size:count>"))
        self.assertIn("*size = call.template narrow<N>(size_);", text)

    def test_a_function_may_be_told_its_form(self):
        f = one("Type_contiguous large, form\n  count:count oldtype:datatype newtype:datatype>", "datatypes")
        self.assertTrue(declarations.declaration(f).endswith("Datatype*& newtype, bool large_form = false)"))
        self.assertIn("newtype_, std::same_as<N, mpi::Count>)", entries.entry(f))

    def test_functions_that_are_not_implemented_name_themselves(self):
        text = entries.make_symbols(parse_functions("Cart_sub none\n  comm:comm remain_dims:int[]", "topologies"), "topologies")
        self.assertIn('return hf::abi::unsupported<Standard>("MPI_Cart_sub", comm);', text)
        self.assertIn("int holdfast_MPI_Cart_sub(MPI_Comm comm, const int[])", text)
        self.assertIn("HF_ENTRY(MPI_Cart_sub);", text)

    def test_arguments_that_are_passed_on_the_stack_are_counted(self):
        text = entries.make_entries(parse_functions("Comm_size\n  comm:comm size:int>\n\nScatter large\n  sendbuf:buffer sendcount:count "
                                                    "sendtype:committed recvbuf:buffer> recvcount:count recvtype:committed root:root comm:comm",
                                                    "collectives"))
        self.assertIn("  entry MPI_Comm_size, 0\n", text)
        self.assertIn("  entry MPI_Scatter, 2\n  entry MPI_Scatter_c, 2\n", text)

    def test_what_makes_an_object_with_an_error_handler_tells_that_handler(self):
        init = one("Session_init anytime, none\n  info:info? errhandler:errhandler session:session>", "sessions")
        self.assertLess(entries.entry(init).index("call.tell(errhandler);"), entries.entry(init).index("(info,"))
        setter = one("Comm_set_errhandler\n  comm:comm errhandler:errhandler", "errors")
        self.assertNotIn("call.tell", entries.entry(setter))

    def test_errors_go_to_the_session_whichever_argument_is_wrong(self):
        text = entries.entry(one("Session_x anytime\n  info:info? session:session", "sessions"))
        self.assertLess(text.index('call.session(session, "session")'), text.index("(info,"))
        self.assertIn('session_at(session, "session")', entries.entry(one("Session_finalize anytime\n  session:session&", "sessions")))


class Whole(unittest.TestCase):
    def test_the_table_has_all_functions_of_mpi_5_0_once(self):
        names = [name for f in generate.read_table()[0] for name, _ in f.forms()]
        self.assertEqual(len(names), 664)
        self.assertEqual(len(set(names)), 664)

    def test_no_line_is_too_long(self):
        for path, text in generate.generate().items():
            for line in text.splitlines():
                self.assertLessEqual(len(line), 120, f"{path}: {line}")

    def test_lists_break_at_commas(self):
        self.assertEqual(wrap_list("f(aaaa, bbbb, cccc)", 12, "  "), "f(aaaa,\n  bbbb,\n  cccc)")


if __name__ == "__main__":
    unittest.main()
