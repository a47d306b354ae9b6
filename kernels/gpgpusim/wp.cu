// SPDX-License-Identifier: MIT
// Clouds and precipitation in columns of the atmosphere, a thread per column, eight by eight columns per CTA. Fields are arrays of levels of rows; a
// warp touches four rows of eight columns in each. Four passes over the levels: temperatures, exchange between the kinds of water,
// falling, condensation. What a column keeps for itself lies in global memory, word k of all threads side by side, as local memory does.

static __device__ __forceinline__ float saturation(float temperature, float pressure) {
    const float vapour_pressure = 611.0f * expf(17.27f * (temperature - 273.16f) / (temperature - 35.86f));
    return 0.622f * vapour_pressure / fmaxf(pressure - vapour_pressure, vapour_pressure);
}

// Share of the water that freezes at this temperature: none at 273 K, all at 233 K.
static __device__ __forceinline__ float frozen(float temperature) { return fminf(fmaxf((273.16f - temperature) * 0.025f, 0.0f), 1.0f); }

extern "C" __global__ void wp_columns(float* theta_of, float* vapour_of, float* cloud_of, float* ice_of, float* rain_of, float* snow_of,
                                      const float* density_of, const float* exner_of, const float* pressure_of, const float* thickness_of,
                                      float* temperature_of, float* capacity_of, float* heat_of, float* rain_flux, float* snow_flux,
                                      float* rain_fallen, float* snow_fallen, int ni, int nj, int levels, float dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ni || j >= nj) return;
    const int column = j * ni + i, level = ni * nj;
    const int threads = gridDim.x * gridDim.y * blockDim.x * blockDim.y;
    const int own = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
    for (int k = 0; k < levels; ++k) {
        const int at = k * level + column, mine = k * threads + own;
        const float temperature = theta_of[at] * exner_of[at];
        temperature_of[mine] = temperature;
        capacity_of[mine] = 1004.5f + 858.0f * vapour_of[at];
        heat_of[mine] = 2.5e6f - 2369.0f * (temperature - 273.16f);
    }
    for (int k = 0; k < levels; ++k) {
        const int at = k * level + column, mine = k * threads + own;
        const float temperature = temperature_of[mine], density = density_of[at];
        const float cold = frozen(temperature);
        float cloud = cloud_of[at], ice = ice_of[at], rain = rain_of[at], snow = snow_of[at], vapour = vapour_of[at];
        const float freezing = fminf(cloud, cloud * cold * 0.1f * dt);
        const float melting = fminf(snow, snow * (1.0f - cold) * 0.02f * dt);
        cloud -= freezing;
        ice += freezing;
        const float to_rain = fminf(cloud, (fmaxf(cloud - 0.0005f, 0.0f) * 0.001f + 2.2f * density * cloud * rain) * dt);
        const float to_snow = fminf(ice, (fmaxf(ice - 0.0002f, 0.0f) * 0.001f + 1.1f * density * ice * snow) * dt);
        const float lacking = fmaxf(saturation(temperature, pressure_of[at]) - vapour, 0.0f);
        const float dried = fminf(rain, rain * lacking * 0.5f * dt);
        cloud_of[at] = cloud - to_rain;
        ice_of[at] = ice - to_snow;
        rain_of[at] = rain + to_rain + melting - dried;
        snow_of[at] = snow + to_snow - melting;
        vapour_of[at] = vapour + dried;
        temperature_of[mine] = temperature + (3.5e5f * (freezing - melting) - heat_of[mine] * dried) / capacity_of[mine];
    }
    float rain_above = 0.0f, snow_above = 0.0f;
    for (int k = levels - 1; k >= 0; --k) {
        const int at = k * level + column, mine = k * threads + own;
        const float mass = density_of[at] * thickness_of[at];
        const float rain = rain_of[at] + rain_above / mass, snow = snow_of[at] + snow_above / mass;
        const float rain_share = fminf(8.0f * sqrtf(density_of[at]) * dt / thickness_of[at], 0.9f);
        const float snow_share = 0.2f * rain_share;
        rain_above = rain * rain_share * mass;
        snow_above = snow * snow_share * mass;
        rain_of[at] = rain - rain * rain_share;
        snow_of[at] = snow - snow * snow_share;
        rain_flux[mine] = rain_above;
        snow_flux[mine] = snow_above;
    }
    rain_fallen[column] += rain_above;
    snow_fallen[column] += snow_above;
    for (int k = 0; k < levels; ++k) {
        const int at = k * level + column, mine = k * threads + own;
        const float passing = rain_flux[mine] + snow_flux[mine];
        const float temperature = temperature_of[mine] - 0.001f * passing;
        const float excess = vapour_of[at] - saturation(temperature, pressure_of[at]);
        const float condensed = fmaxf(0.5f * excess, -cloud_of[at]);
        vapour_of[at] -= condensed;
        cloud_of[at] += condensed;
        theta_of[at] = (temperature + heat_of[mine] * condensed / capacity_of[mine]) / exner_of[at];
    }
}
