# From the host runtime's archive: functions.inc, which lists its CUDA functions, and an archive in
# which they are called host_<name>, because the forwarding functions have their names.
# cmake -DNM= -DOBJCOPY= -DFROM=archive -DTO=archive -DFUNCTIONS=functions.inc -P prepare_host.cmake
execute_process(COMMAND ${NM} --defined-only --extern-only ${FROM}
                OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " T (__)?cuda[A-Za-z0-9_]+" symbols "${symbols}")
list(TRANSFORM symbols REPLACE " T " "")
list(SORT symbols)
set(renames "")
set(functions "")
set(index 0)
foreach(symbol ${symbols})
  string(APPEND renames "${symbol} host_${symbol}\n")
  # registration.cc tells both runtimes of device code.
  if(NOT symbol MATCHES "^__cuda(Register|Unregister|InitModule)")
    string(APPEND functions "FORWARD(${index}, ${symbol})\n")
    math(EXPR index "${index} + 1")
  endif()
endforeach()
if(index LESS 300)
  message(FATAL_ERROR "${FROM} has ${index} CUDA functions; expected all of libcudart's")
endif()
file(WRITE ${FUNCTIONS} "${functions}")
file(WRITE ${TO}.renames "${renames}")
execute_process(COMMAND ${OBJCOPY} --redefine-syms=${TO}.renames ${FROM} ${TO}
                COMMAND_ERROR_IS_FATAL ANY)
