-- Asks for the paths of a file in turn, with the headers of another, and prints what came as JSON.
local paths = {}
local at = 0

function init(args)
  for line in io.lines(args[1]) do paths[#paths + 1] = line end
  for line in io.lines(args[2]) do
    local name, value = line:match('^([^:]+): (.*)$')
    wrk.headers[name] = value
  end
end

function request()
  at = at % #paths + 1
  return wrk.format('GET', paths[at])
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '@@{"requests": %d, "microseconds": %d, "bytes": %d, "p50": %d, "p99": %d, "connect": %d, "read": %d, "write": %d, "status": %d, "timeout": %d}@@\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
