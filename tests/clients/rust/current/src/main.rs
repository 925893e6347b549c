use pyroscope::backend::{pprof_backend, BackendConfig, PprofConfig};
use pyroscope::pyroscope::PyroscopeAgentBuilder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (server, service) = (busy::server(), busy::service());
    let agent = PyroscopeAgentBuilder::new(
        &server,
        &service,
        100,
        "pyroscope-rs",
        "2.1.5",
        pprof_backend(PprofConfig::default(), BackendConfig::default()),
    )
    .tags(vec![("region", "north")])
    .build()?;
    let running = agent.start()?;
    busy::work();
    running.stop()?.shutdown();
    Ok(())
}
